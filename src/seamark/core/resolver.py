"""The addresses of a host name: as the system finds them, or as a name server says that one names."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable
from typing import TypeVar

import dns.asyncresolver
import dns.exception
import dns.resolver

from seamark.core.errors import UserError

V = TypeVar("V")
PATIENCE = 5.0  # seconds for one look


class Resolver:
    """`lookup` gives every address of a host, or raises OSError in words.

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
        if is_address(host):
            return (host,)
        if self._server is not None:
            try:
                found = await heard(self._server.resolve_name(host, lifetime=PATIENCE))
                return tuple(found.addresses())
            except dns.resolver.NoNameservers:
                pass  # it is not there, or this name is not for it to say
            except dns.exception.DNSException:
                raise OSError(f"{host} has no address in DNS") from None
        answers = await asyncio.get_running_loop().getaddrinfo(host, None)
        return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


async def heard(answer: Awaitable[V]) -> V:
    """What a library answers. One that has a deadline of its own may swallow a cancellation that comes at the same
    moment, and whoever asks again and again would never end: it counts all the same."""
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
