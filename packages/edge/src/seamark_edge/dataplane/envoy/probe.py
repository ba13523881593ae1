"""Whether Envoy answers requests at the listeners of a gateway: one short exchange with each of its ports.

- HTTP: every route table has a virtual host of a name that only we ask for (`ProbeToken`); Envoy answers it itself,
  with a body that only an Envoy with this table of this Gateway knows. So no request reaches a user's backend.
- HTTPS: the same behind a TLS handshake, by the first chain of the port. Where clients must have a certificate, the
  completed handshake, or Envoy's alert about the missing certificate, is the answer; so is an alert where only
  versions below TLS 1.2 are taken.
- Of a port that only passes connections on, an accepted connection is all there is: the kernel accepts it for a process
  that is frozen. That one loses its xDS stream (`server`).
- An answer is read up to a limit; any but the expected one is a failure. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from seamark_edge.dataplane.model import Chain, Listener
from seamark_edge.dataplane.protocol import ConnectionRefused
from seamark_runtime.errors import Refused, Retry
from seamark_runtime.reach import forbidden, parsed

DEADLINE = 4.0  # seconds for one exchange
MOST_BYTES = 4096  # of an answer


@dataclass(frozen=True, slots=True)
class ProbeToken:
    """What an Envoy with a table of a Gateway answers to us."""

    text: str

    @classmethod
    def of(cls, uid: str, table: str) -> ProbeToken:
        return cls(hashlib.sha256(f"{uid} {table}".encode()).hexdigest()[:32])

    @property
    def host(self) -> str:
        return f"{self.text}.probe.seamark.invalid"


class Refusing(Retry):
    """Nothing listens there."""


async def probe(listener: Listener, uid: str, addresses: Iterable[str]) -> None:
    """Raises `Retry` unless Envoy answers at each of these addresses of the listener."""
    for address in addresses:
        where = f"{f'[{address}]' if ':' in address else address}:{listener.port}"
        try:
            async with asyncio.timeout(DEADLINE):
                await _exchange(listener, uid, address, where)
        except TimeoutError:
            raise Retry(f"{where} accepts connections and answers no request") from None
        except ConnectionRefusedError:
            raise Refusing(f"nothing listens at {where}") from None
        except OSError as error:
            raise Retry(f"{where} does not answer ({error.strerror or type(error).__name__})") from None


async def _exchange(listener: Listener, uid: str, address: str, where: str) -> None:
    chain = probed_chain(listener)
    terminated = chain.tls is not None
    options: Mapping[str, object] = {"ssl": _context(), "server_hostname": server_name(chain)} if terminated else {}
    try:
        reader, writer = await asyncio.open_connection(address, listener.port, **options)  # type: ignore[arg-type]
    except ssl.SSLError as error:
        if (certificate_required(chain) or _old(chain)) and "ALERT" in (error.reason or ""):
            return
        raise Retry(f"{where} does not answer with TLS ({error.reason})") from None
    try:
        if chain.table and not certificate_required(chain):
            await _ask(reader, writer, ProbeToken.of(uid, chain.table), where)
    finally:
        writer.transport.abort()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: ProbeToken, where: str) -> None:
    writer.write(f"GET / HTTP/1.1\r\nHost: {token.host}\r\nConnection: close\r\n\r\n".encode())
    answer = b""
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while len(answer) < MOST_BYTES and (part := await reader.read(MOST_BYTES - len(answer))):
            answer += part
            if answer.endswith(token.text.encode()):
                break
    if not answer.startswith(b"HTTP/1.1 200 ") or not answer.endswith(token.text.encode()):
        raise Retry(f"{where} answers, but not as the Envoy of this Gateway")


async def connect(host: str, port: int) -> None:
    """A connection to a backend's endpoint, closed again at once. The address is what a tenant has written."""
    if parsed(host) is None or forbidden(host):
        raise Refused(f"{host[:100]} is {forbidden(host) or 'no address'}", reason="AddressNotAllowed")
    try:
        _, writer = await asyncio.open_connection(host, port)
    except ConnectionRefusedError:
        raise ConnectionRefused("the connection was refused") from None
    writer.transport.abort()


def probed_chain(listener: Listener) -> Chain:
    """The first that answers HTTP, if any does."""
    answering = (chain for chain in listener.chains if chain.table)
    return next(answering, listener.chains[0] if listener.chains else Chain(""))


def certificate_required(chain: Chain) -> bool:
    return chain.tls is not None and chain.tls.validation is not None and chain.tls.validation.required


def _old(chain: Chain) -> bool:
    """Whether it only takes versions of TLS that we do not use any more."""
    return chain.tls is not None and chain.tls.versions[1] in ("1.0", "1.1")


def server_name(chain: Chain) -> str:
    """One that leads to this chain."""
    name = chain.server_names[0] if chain.server_names else "probe.seamark.invalid"
    return f"probe{name[1:]}" if name.startswith("*.") else name


@cache
def _context() -> ssl.SSLContext:
    """Whose certificate it shows is the user's business; that it has the key is proved by the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
