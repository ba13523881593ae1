"""Probes: asking a container whether it is well, and counting the answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from seamark.api.core import Container, HttpGet, Probe, TcpSocket

FIRST_PAUSE = 0.05  # before the first success one asks more often than every period: a start takes milliseconds here

QUICK = 20  # times that it is asked so often, then less and less
UNVERIFIED = ssl._create_unverified_context()  # noqa: S323  a probe asks whether somebody answers, not who

Verdict = tuple[bool, str]
Ask = Callable[[], Awaitable[Verdict]]


@dataclass
class Count:
    """Answers in a row. `add` gives the new verdict when a threshold is reached, and None as long as none is."""

    success: int
    failure: int
    verdict: bool | None = None
    _same: int = 0
    _last: bool | None = None

    def add(self, well: bool) -> bool | None:
        self._same = self._same + 1 if well is self._last else 1
        self._last = well
        if self._same < (self.success if well else self.failure) or self.verdict is well:
            return None
        self.verdict = well
        return well


async def follow(probe: Probe, ask: Ask, tell: Callable[[bool, str], None], *, eager: bool) -> None:
    """Asks for ever, and tells each change of the verdict. An `eager` one asks often until the first success.

    What an eager one hears in between does not count as a failure: thresholds are for the periods that a user set.
    """
    await asyncio.sleep(probe.initial_delay_seconds)
    count = Count(probe.success_threshold, probe.failure_threshold)
    loop = asyncio.get_running_loop()
    due, pause, tries = loop.time(), FIRST_PAUSE, 0
    while True:
        async with asyncio.timeout(probe.timeout_seconds + 1):
            well, words = await ask()
        now = loop.time()
        counts = well or now >= due
        if counts and (verdict := count.add(well)) is not None:
            tell(verdict, words)
        if now >= due:
            due = now + probe.period_seconds
        if eager and count.verdict is not True:
            await asyncio.sleep(min(pause, max(0.0, due - now)))
            tries += 1
            pause = FIRST_PAUSE * 2.0 ** max(0, tries - QUICK)
        else:
            await asyncio.sleep(max(0.0, due - now))


def question(
    container: Container,
    probe: Probe,
    address: str,
    execute: Callable[[tuple[str, ...], float], Awaitable[tuple[int, str]]],
) -> Ask:
    """What to ask, as a function without arguments."""
    timeout = float(probe.timeout_seconds)

    async def ask() -> Verdict:
        if probe.http_get is not None:
            return await http(container, probe.http_get, address, timeout)
        if probe.tcp_socket is not None:
            return await tcp(container, probe.tcp_socket, address, timeout)
        if probe.exec is not None:
            code, said = await execute(probe.exec.command or (), timeout)
            return code == 0, said or f"exit code {code}"
        return False, "this node has http, tcp and exec probes, no others"

    return ask


async def http(container: Container, action: HttpGet, address: str, timeout: float) -> Verdict:
    """Only the first line of the answer counts, so only that is read."""
    port = container.port(action.port)
    if port is None:
        return False, f"the container has no port named {action.port}"
    host = action.host or address
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    url = f"{action.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{port}{path}"
    headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/seamark", "Accept": "*/*", "Connection": "close"}
    headers |= {one.name: one.value for one in action.http_headers or ()}
    head = f"GET {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    try:
        async with asyncio.timeout(timeout):
            line = await _first_line(host, port, head.encode(), UNVERIFIED if action.scheme == "HTTPS" else None)
    except TimeoutError:
        return False, f'Get "{url}": no answer within {timeout:g} s'
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        return False, f'Get "{url}": {error}'
    code = line.split(b" ")[1:2]
    if not line.startswith(b"HTTP/") or not code or not code[0].strip().isdigit():
        return False, f'Get "{url}": the answer is no HTTP'
    return 200 <= int(code[0]) < 400, f"HTTP probe failed with statuscode: {int(code[0])}"


async def _first_line(host: str, port: int, head: bytes, trust: ssl.SSLContext | None) -> bytes:
    reader, writer = await asyncio.open_connection(host, port, ssl=trust)
    try:
        writer.write(head)
        return await reader.readuntil(b"\r\n")
    finally:
        writer.transport.abort()


async def tcp(container: Container, action: TcpSocket, address: str, timeout: float) -> Verdict:
    port = container.port(action.port)
    if port is None:
        return False, f"the container has no port named {action.port}"
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(action.host or address, port)
    except TimeoutError:
        return False, f"dial tcp {address}:{port}: no answer within {timeout:g} s"
    except OSError as error:
        return False, f"dial tcp {address}:{port}: {error.strerror or error}"
    writer.close()
    return True, ""
