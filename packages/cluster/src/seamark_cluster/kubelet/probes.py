"""Probes: checking a container, and counting the results."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from seamark_runtime.api.core import Container, HttpGet, Probe, TcpSocket

FIRST_PAUSE = 0.05  # seconds: until the first success, as containers start in milliseconds

QUICK = 20  # probes at that interval, then less and less often
UNVERIFIED = ssl._create_unverified_context()  # noqa: S323  a probe needs a response, not its identity

ProbeResult = tuple[bool, str]
Attempt = Callable[[], Awaitable[ProbeResult]]


@dataclass
class Count:
    """Consecutive results. `add` returns the new result when a threshold is reached, else None."""

    success: int
    failure: int
    result: bool | None = None
    _same: int = 0
    _last: bool | None = None

    def add(self, healthy: bool) -> bool | None:
        self._same = self._same + 1 if healthy is self._last else 1
        self._last = healthy
        if self._same < (self.success if healthy else self.failure) or self.result is healthy:
            return None
        self.result = healthy
        return healthy


async def follow(probe: Probe, attempt: Attempt, report: Callable[[bool, str], None], *, eager: bool) -> None:
    """Probes until cancelled, and reports each change of the verdict. An `eager` probe runs often until the first
    success.

    Failures of an eager probe between two periods do not count: thresholds are for the periods that the user set.
    """
    await asyncio.sleep(probe.initial_delay_seconds)
    count = Count(probe.success_threshold, probe.failure_threshold)
    loop = asyncio.get_running_loop()
    due, pause, tries = loop.time(), FIRST_PAUSE, 0
    while True:
        async with asyncio.timeout(probe.timeout_seconds + 1):
            healthy, message = await attempt()
        now = loop.time()
        counts = healthy or now >= due
        if counts and (result := count.add(healthy)) is not None:
            report(result, message)
        if now >= due:
            due = now + probe.period_seconds
        if eager and count.result is not True:
            await asyncio.sleep(min(pause, max(0.0, due - now)))
            tries += 1
            pause = FIRST_PAUSE * 2.0 ** max(0, tries - QUICK)
        else:
            await asyncio.sleep(max(0.0, due - now))


def attempt_for(
    container: Container,
    probe: Probe,
    address: str,
    execute: Callable[[tuple[str, ...], float], Awaitable[tuple[int, str]]],
) -> Attempt:
    """The probe as a function without arguments."""
    timeout = float(probe.timeout_seconds)

    async def attempt() -> ProbeResult:
        if probe.http_get is not None:
            return await http(container, probe.http_get, address, timeout)
        if probe.tcp_socket is not None:
            return await tcp(container, probe.tcp_socket, address, timeout)
        if probe.exec is not None:
            code, output = await execute(probe.exec.command or (), timeout)
            return code == 0, output or f"exit code {code}"
        return False, "only http, tcp and exec probes are supported"

    return attempt


async def http(container: Container, action: HttpGet, address: str, timeout: float) -> ProbeResult:
    """Reads only the status line of the response."""
    port = container.port(action.port)
    if port is None:
        return False, f"the container has no port named {action.port}"
    host = action.host or address
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    url = f"{action.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{port}{path}"
    headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/seamark", "Accept": "*/*", "Connection": "close"}
    headers |= {header.name: header.value for header in action.http_headers or ()}
    head = f"GET {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    try:
        async with asyncio.timeout(timeout):
            line = await _first_line(host, port, head.encode(), UNVERIFIED if action.scheme == "HTTPS" else None)
    except TimeoutError:
        return False, f'Get "{url}": no response within {timeout:g} s'
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        return False, f'Get "{url}": {error}'
    code = line.split(b" ")[1:2]
    if not line.startswith(b"HTTP/") or not code or not code[0].strip().isdigit():
        return False, f'Get "{url}": the response is not HTTP'
    return 200 <= int(code[0]) < 400, f"HTTP probe failed with statuscode: {int(code[0])}"


async def _first_line(host: str, port: int, head: bytes, trust: ssl.SSLContext | None) -> bytes:
    reader, writer = await asyncio.open_connection(host, port, ssl=trust)
    try:
        writer.write(head)
        return await reader.readuntil(b"\r\n")
    finally:
        writer.transport.abort()


async def tcp(container: Container, action: TcpSocket, address: str, timeout: float) -> ProbeResult:
    port = container.port(action.port)
    if port is None:
        return False, f"the container has no port named {action.port}"
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(action.host or address, port)
    except TimeoutError:
        return False, f"dial tcp {address}:{port}: no response within {timeout:g} s"
    except OSError as error:
        return False, f"dial tcp {address}:{port}: {error.strerror or error}"
    writer.close()
    return True, ""
