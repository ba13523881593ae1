"""Attempts to reach what is published: a lookup in DNS, a connection, an HTTP request.

- Reachable means a response of the Workload. A gateway's response that it has no backend does not count.
- Certificates are not verified here: one of an unknown authority is still a response.
- No attempt goes to a link-local or metadata address, and inside a Pod none to its loopback (`seamark_runtime.reach`).
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

from seamark.families.score.workloadexposure.state import Lookup, Probe
from seamark_runtime.errors import Retry
from seamark_runtime.reach import allowed
from seamark_runtime.resolver import Resolver

NO_BACKEND = (502, 503, 504)
LONGEST_LINE = 1024


class Remote:
    """Performs the calls of the family. Names are looked up by the resolver that it is given."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def perform(self, action: Probe | Lookup) -> bool:
        if isinstance(action, Lookup):
            return await self._resolves(action)
        return await answers(action, self._resolver)

    async def _resolves(self, action: Lookup) -> bool:
        """Whether the host has an address."""
        try:
            found = await self._resolver.lookup(action.host)
        except OSError:  # the message of the resolver differs from one system to the next
            raise Retry(f"{action.host} has no address in DNS") from None
        return bool(found)


async def answers(action: Probe, resolver: Resolver | None = None) -> bool:
    context = _unverified() if action.scheme == "https" else None
    address, *_ = await allowed(action.host, action.port, resolver)
    name = action.host if context is not None else None
    reader, writer = await asyncio.open_connection(address, action.port, ssl=context, server_hostname=name)
    try:
        if action.scheme in ("http", "https"):
            await _request(action, reader, writer)
    finally:
        writer.close()
        with suppress(OSError):  # it has answered; how the connection ends does not matter
            await writer.wait_closed()
    return True


async def _request(action: Probe, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    host = f"[{action.host}]" if ":" in action.host else action.host
    lines = (f"HEAD {action.path} HTTP/1.1", f"Host: {host}", "User-Agent: seamark", "Connection: close", "", "")
    writer.write("\r\n".join(lines).encode())
    await writer.drain()
    line = (await reader.readline())[:LONGEST_LINE].split()
    if len(line) < 2 or not line[0].startswith(b"HTTP/") or len(line[1]) != 3 or not line[1].isdigit():
        raise Retry("what answers there speaks no HTTP")
    if int(line[1]) in NO_BACKEND:
        raise Retry(f"it answers with {int(line[1])}")


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
