"""Attempts to reach what is published: a lookup in DNS, a connection, an HTTP request.

- A Pod's port answers a request where it speaks HTTP, and a TLS handshake, be it with an alert, where it speaks HTTPS.
  Of other ports an accepted connection is all there is. One that is closed without a byte is no answer.
- An endpoint is reachable: there was a response of the Workload. That of a gateway without a backend does not count.
- Of an answer only its beginning is read: it may have no end.
- Certificates are not verified here: one of an unknown authority is still a response.
- No attempt goes to a link-local or metadata address, and inside a Pod none to its loopback (`seamark_runtime.reach`).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum

from seamark.families.score.workloadexposure.state import Dial, Lookup, OtherProtocol, Port, PortRefused, Probe
from seamark_runtime.errors import Retry
from seamark_runtime.reach import allowed
from seamark_runtime.resolver import Resolver

NO_BACKEND = (502, 503, 504)
MOST_BYTES = 1024  # of an answer, which may have no end
HTTP_2 = 0  # in place of a status code
FRAME = 9  # bytes of the header of a frame of HTTP/2
FIRST_FRAMES = (4, 7)  # SETTINGS, GOAWAY
PATIENCE = 3.0  # seconds for one port
PAUSE = 0.2  # seconds in which a connection is not closed where nothing is sent
# OpenSSL's names of the alerts of the other side, and of its answer in a version that we do not use any more
TLS_ANSWERS = ("SSLV3_ALERT_", "TLSV1_", "TLSV13_", "UNSUPPORTED_PROTOCOL")


class Outcome(Enum):
    """What a port does with a connection, the worst first; the text for its numbers."""

    REFUSED = "Connections to port {} are refused"
    NO_HTTP = "Port {} answers, but not with HTTP"
    NO_TLS = "Port {} answers, but not with TLS"
    CLOSED = "Port {} closes connections without an answer"
    SILENT = "Port {} does not answer"
    ACCEPTED = ""


ERRORS: Mapping[Outcome, type[Retry]] = {
    Outcome.REFUSED: PortRefused,
    Outcome.NO_HTTP: OtherProtocol,
    Outcome.NO_TLS: OtherProtocol,
    Outcome.CLOSED: Retry,
    Outcome.SILENT: Retry,
}


class Closed(Retry):
    """The other side has ended a connection without a byte."""

    def __init__(self) -> None:
        super().__init__("it closes connections without an answer")


class NoHttp(Retry):
    """What answers is neither HTTP/1 nor HTTP/2."""

    def __init__(self) -> None:
        super().__init__("what answers there speaks no HTTP")


class Remote:
    """Performs the calls of the family. Names are looked up by the resolver that it is given."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def perform(self, action: Probe | Lookup | Dial) -> bool:
        if isinstance(action, Lookup):
            return await self._resolves(action)
        if isinstance(action, Dial):
            return await accepts(action)
        return await answers(action, self._resolver)

    async def _resolves(self, action: Lookup) -> bool:
        """Whether the host has an address."""
        try:
            found = await self._resolver.lookup(action.host)
        except OSError:  # the message of the resolver differs from one system to the next
            raise Retry(f"{action.host} has no address in DNS") from None
        return bool(found)


async def accepts(action: Dial) -> bool:
    """Whether every port answers, or accepts where it is not HTTP. Raises the error of the worst outcome."""
    await allowed(action.address, action.ports[0].number)
    outcomes = await asyncio.gather(*(_connect(action.address, port) for port in action.ports))
    for outcome, error in ERRORS.items():
        pairs = zip(action.ports, outcomes, strict=True)
        if numbers := ", ".join(str(port.number) for port, found in pairs if found is outcome):
            raise error(outcome.value.format(numbers))
    return True


async def _connect(address: str, port: Port) -> Outcome:
    try:
        async with asyncio.timeout(PATIENCE):
            await _exchange(address, port)
    except ConnectionRefusedError:
        return Outcome.REFUSED
    except NoHttp:
        return Outcome.NO_HTTP
    except (Closed, ConnectionError, ssl.SSLEOFError):
        return Outcome.CLOSED
    except ssl.SSLError as error:
        return Outcome.ACCEPTED if (error.reason or "").startswith(TLS_ANSWERS) else Outcome.NO_TLS
    except OSError:  # a timeout is one
        return Outcome.SILENT
    return Outcome.ACCEPTED


async def _exchange(address: str, port: Port) -> None:
    context = _unverified() if port.scheme == "https" else None  # a completed handshake is an answer
    reader, writer = await asyncio.open_connection(address, port.number, ssl=context)
    try:
        if port.scheme == "http":
            await _status(Probe("seamark", port.number), reader, writer)
        elif port.scheme == "tcp":
            await _open(reader)
    finally:
        writer.transport.abort()  # a polite end would wait for the other side


async def answers(action: Probe, resolver: Resolver | None = None) -> bool:
    context = _unverified() if action.scheme == "https" else None
    address, *_ = await allowed(action.host, action.port, resolver)
    name = action.host if context is not None else None
    reader, writer = await asyncio.open_connection(address, action.port, ssl=context, server_hostname=name)
    try:
        if action.scheme not in ("http", "https"):
            await _open(reader)
        elif (status := await _status(action, reader, writer)) in NO_BACKEND:
            raise Retry(f"it answers with {status}")
    finally:
        writer.close()
        with suppress(OSError):  # it has answered; how the connection ends does not matter
            await writer.wait_closed()
    return True


async def _open(reader: asyncio.StreamReader) -> None:
    """Raises `Closed` where the other side closes at once: a proxy accepts for a process that is not there."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PAUSE):
            if not await _read(reader, 1):
                raise Closed


async def _read(reader: asyncio.StreamReader, most: int) -> bytes:
    """What has come; nothing at the end, however it comes."""
    try:
        return await reader.read(most)
    except ConnectionError:
        return b""


async def _status(action: Probe, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """The status code of the response to a request; 0 of HTTP/2, which answers that it expects something else."""
    host = f"[{action.host}]" if ":" in action.host else action.host
    lines = (f"HEAD {action.path} HTTP/1.1", f"Host: {host}", "User-Agent: seamark", "Connection: close", "", "")
    writer.write("\r\n".join(lines).encode())
    answer = b""
    while not _complete(answer) and (part := await _read(reader, MOST_BYTES - len(answer))):
        answer += part
    if not answer:
        raise Closed
    if len(answer) >= FRAME and answer[3] in FIRST_FRAMES and not any(answer[5:FRAME]):
        return HTTP_2
    line = answer.partition(b"\n")[0].split()
    if len(line) < 2 or not line[0].startswith(b"HTTP/") or len(line[1]) != 3 or not line[1].isdigit():
        raise NoHttp
    return int(line[1])


def _complete(answer: bytes) -> bool:
    """Whether it is long enough to be judged: a line of HTTP/1, or the first frame of anything else."""
    if answer.startswith(b"HTTP/"):
        return b"\n" in answer or len(answer) >= MOST_BYTES
    return len(answer) >= FRAME


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
