"""The xDS server: one stream per Envoy, one target per gateway.

- An Envoy says by its node's id whose it is: `namespace/name` of its gateway, and behind that where it listens, if that
  is not where it connects from.
- `program` returns when every connected Envoy of the gateway has taken everything and listens, or one has refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import grpc
import structlog
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from seamark.api.meta import Key
from seamark.core.source import Facts
from seamark.providers.dataplane.envoy.session import Prepared, Session
from seamark.providers.dataplane.model import Listener, Snapshot
from seamark.providers.dataplane.protocol import Outcome, Presence, Rejected, Served, Superseded

log = structlog.get_logger(__name__)

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


@dataclass(eq=False)
class _Envoy:
    """A connected one: its session, and a bell for whoever writes to it."""

    session: Session
    host: str
    bell: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class _Gateway:
    """What its Envoys are to have, and those that are connected."""

    target: Prepared | None = None
    envoys: list[_Envoy] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # replaced when it has rung
    arrivals: int = 0

    def ring(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class XdsServer(ads_pb2_grpc.AggregatedDiscoveryServiceServicer):  # type: ignore[misc]  # it comes without types
    """Contract: that of this module. Every change of who is connected is told by `presence`."""

    def __init__(self, presence: Facts[Key, Presence]) -> None:
        self.presence = presence
        self._gateways: dict[Key, _Gateway] = {}

    def of(self, key: Key) -> _Gateway:
        return self._gateways.setdefault(key, _Gateway())

    async def program(self, key: Key, snapshot: Snapshot) -> Outcome:
        gateway = self.of(key)
        if gateway.target is None or gateway.target.snapshot != snapshot:
            gateway.target = Prepared(snapshot).after(gateway.target)
            for envoy in gateway.envoys:
                envoy.session.aim(gateway.target)
                envoy.bell.set()
            gateway.ring()
        target = gateway.target
        while True:
            if gateway.target is not target:
                return Superseded()
            refusals = [envoy.session.refusal for envoy in gateway.envoys if envoy.session.refusal is not None]
            if refusals:
                return Rejected(refusals[0].message, refusals[0].resources)
            if gateway.envoys and all(envoy.session.done for envoy in gateway.envoys):
                break
            await gateway.changed.wait()
        hosts = [envoy.host for envoy in gateway.envoys]
        await listening(snapshot.listeners.values(), hosts)
        return Served(len(hosts))

    def forget(self, key: Key) -> None:
        gateway = self._gateways.pop(key, None)
        if gateway is not None:
            gateway.target = None
            gateway.ring()
            for envoy in gateway.envoys:
                envoy.bell.set()
        self.presence.remove(key)

    # ---- one Envoy

    async def DeltaAggregatedResources(self, _requests: Any, context: Any) -> None:  # noqa: N802 - gRPC's name for it
        first = await context.read()
        if first is grpc.aio.EOF:
            return
        key, host = identity(first.node.id)
        envoy = _Envoy(Session(), host or peer(context.peer()))
        gateway = self.of(key)
        gateway.envoys.append(envoy)
        gateway.arrivals += 1
        if gateway.target is not None:
            envoy.session.aim(gateway.target)
        self._tell(key, gateway)
        log.info("envoy connected", gateway=str(key))
        writing = asyncio.ensure_future(self._write(envoy, context))
        try:
            request = first
            while request is not grpc.aio.EOF:
                self._heard(gateway, envoy, request)
                request = await context.read()
        finally:
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writing
            gateway.envoys.remove(envoy)
            self._tell(key, gateway)
            gateway.ring()

    def _heard(self, gateway: _Gateway, envoy: _Envoy, request: discovery_pb2.DeltaDiscoveryRequest) -> None:
        envoy.session.received(request)
        if request.HasField("error_detail"):
            log.warning("envoy refused", type=request.type_url, error=request.error_detail.message)
        envoy.bell.set()
        gateway.ring()

    async def _write(self, envoy: _Envoy, context: Any) -> None:
        while True:
            await envoy.bell.wait()
            envoy.bell.clear()
            for response in envoy.session.responses():
                await context.write(response)

    def _tell(self, key: Key, gateway: _Gateway) -> None:
        if self._gateways.get(key) is gateway:
            self.presence.put(key, Presence(len(gateway.envoys), gateway.arrivals))


def identity(node: str) -> tuple[Key, str]:
    """Whose Envoy it is, and the address it says it has: `namespace/name`, or `namespace/name/address`."""
    namespace, _, rest = node.partition("/")
    name, _, host = rest.partition("/")
    return Key(namespace, name), host


def peer(text: str) -> str:
    """The address of who is connected, from gRPC's spelling; this machine for a local socket."""
    if text.startswith(("ipv4:", "ipv6:")):
        return text[5:].rpartition(":")[0].strip("[]")
    return "127.0.0.1"


async def listening(listeners: Iterable[Listener], hosts: Iterable[str]) -> None:
    """Comes back when each of them takes connections."""
    hosts = list(hosts)
    for listener in listeners:
        for address in listener.addresses:
            for host in hosts if address in ANYWHERE else (address,):
                await connects(host, listener.port)


async def connects(host: str, port: int, pause: Callable[[float], Any] = asyncio.sleep) -> None:
    wait = 0.01
    while True:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await pause(wait)
            wait = min(wait * 2, 1.0)
        else:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return
