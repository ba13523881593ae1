"""The addresses of a host name: from the system's resolver, or from a given name server."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Iterable
from typing import NamedTuple, TypeVar

import dns.asyncresolver
import dns.exception
import dns.resolver

from seamark_runtime.errors import UserError

V = TypeVar("V")
PATIENCE = 5.0  # seconds for one look


class Resolver:
    """`lookup` gives every address of a host, or raises OSError with a message.

    With a server (`HOST:PORT`) that one is asked; names that it does not serve are looked up as usual.
    """

    def __init__(self, server: str = "") -> None:
        self._server: dns.asyncresolver.Resolver | None = None
        if server:
            host, _, port = server.rpartition(":")
            if not port.isdecimal() or not is_address(host.strip("[]")):
                raise UserError(f"{server!r} is no name server", hint="write ADDRESS:PORT, as 127.0.0.1:53")
            self._server = dns.asyncresolver.Resolver(configure=False)
            self._server.nameservers = [host.strip("[]")]
            self._server.port = int(port)

    async def lookup(self, host: str) -> tuple[str, ...]:
        return (await self.find(host)).addresses

    async def find(self, host: str) -> Found:
        """The addresses with the name that they are of, from one answer."""
        if is_address(host):
            return Found(host, (host,))
        if self._server is not None:
            try:
                found = await cancellable(self._server.resolve_name(host, lifetime=PATIENCE))
                return Found(_last(str(answer.canonical_name) for answer in found.values()), tuple(found.addresses()))
            except dns.resolver.NoNameservers:
                pass  # no such name, or none that this server answers for
            except (dns.exception.DNSException, UnicodeError):
                raise OSError(f"{host[:100]} has no address in DNS") from None
        return await _by_system(host, None)


class Found(NamedTuple):
    """The addresses of a host: `name` is the name that its aliases end at, or its own."""

    name: str
    addresses: tuple[str, ...]


async def found_by_system(host: str, port: int | None = None) -> list[str]:
    """The addresses of a host, each once, as the system finds them; OSError for what is no host at all."""
    return list((await _by_system(host, port)).addresses)


async def _by_system(host: str, port: int | None) -> Found:
    loop = asyncio.get_running_loop()
    try:
        infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
    except (UnicodeError, ValueError) as error:  # a label that is too long; a NUL
        raise OSError(f"{host[:100]!r} is no host") from error
    addresses = tuple(dict.fromkeys(str(info[4][0]) for info in infos))
    return Found(_last(info[3] or host for info in infos[:1]), addresses)


def _last(names: Iterable[str]) -> str:
    """In lower case, without the dot at its end; "" if there is none, or several."""
    found = {name.lower().removesuffix(".") for name in names}
    return found.pop() if len(found) == 1 else ""


async def cancellable(answer: Awaitable[V]) -> V:
    """The result of a library call. A library with a timeout of its own may swallow a cancellation that arrives at
    the same moment, and a caller in a loop would never end: it is raised here all the same."""
    try:
        return await answer
    finally:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
