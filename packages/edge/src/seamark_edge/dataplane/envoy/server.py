"""The xDS server: one stream per Envoy, one target per gateway.

- The node id of an Envoy names its gateway: `namespace/name` of its gateway, and behind that where it listens, if that
  is not where it connects from. Over a network its certificate has to name the same gateway (`identity`); any other
  stream ends with PERMISSION_DENIED, and nothing is sent on it.
- `program` returns when every connected Envoy of the gateway has taken everything and answers requests at every port
  (`probe`), or one has refused. A snapshot that was served before is probed once, and fails if a port does not answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import grpc
import structlog
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from seamark_edge.dataplane.envoy.identity import Identity, of_certificate, of_node
from seamark_edge.dataplane.envoy.probe import DEADLINE, Refusing, probe
from seamark_edge.dataplane.envoy.resources import EVERYWHERE
from seamark_edge.dataplane.envoy.session import Prepared, Session, plain
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Outcome, Presence, Rejected, Served, Superseded
from seamark_runtime.api.meta import Key
from seamark_runtime.source import Facts

log = structlog.get_logger(__name__)

LARGEST = 64 << 20  # bytes of one xDS message
KEEPALIVE, KEEPALIVE_TIMEOUT = 5, 5  # seconds: an Envoy that is frozen or cut off loses its stream after both
MOST_NAMES = 100_000  # resources that one Envoy may ask for by name

End = tuple[grpc.StatusCode, str]
DENIED: End = (grpc.StatusCode.PERMISSION_DENIED, "the client certificate does not name this Gateway")
GONE: End = (grpc.StatusCode.UNAVAILABLE, "the Gateway is gone")
TOO_MANY: End = (grpc.StatusCode.RESOURCE_EXHAUSTED, f"more than {MOST_NAMES} resources were asked for by name")


@dataclass(eq=False)
class _Envoy:
    """A connected Envoy: its session, and the event that wakes its writer."""

    session: Session
    host: str
    identity: Identity | None = None  # None: no other user can connect, so none is needed
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    end: End | None = None  # why its stream is to be ended

    def serves(self, target: Prepared) -> bool:
        """Whether this snapshot is that of the Gateway that its certificate names."""
        return self.identity is None or self.identity.uid == target.snapshot.uid

    def dismiss(self, end: End) -> None:
        self.end = end
        self.bell.set()


@dataclass(eq=False)
class _Gateway:
    """What its Envoys are to have, and those that are connected."""

    target: Prepared | None = None
    envoys: list[_Envoy] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # replaced when it has rung
    arrivals: int = 0
    served: Prepared | None = None  # the target that every port has answered for

    def ring(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class XdsServer(ads_pb2_grpc.AggregatedDiscoveryServiceServicer):  # type: ignore[misc]  # it comes without types
    """Contract: that of this module. Every connect and disconnect changes `presence`.

    Without `certified` the node id is trusted: only for a socket that no other user can open.
    """

    def __init__(self, presence: Facts[Key, Presence], *, certified: bool) -> None:
        self.presence = presence
        self._certified = certified
        self._gateways: dict[Key, _Gateway] = {}

    def of(self, key: Key) -> _Gateway:
        return self._gateways.setdefault(key, _Gateway())

    async def program(self, key: Key, snapshot: Snapshot) -> Outcome:
        gateway = self.of(key)
        if gateway.target is None or gateway.target.snapshot != snapshot:
            gateway.target = Prepared(snapshot).after(gateway.target)
            for envoy in list(gateway.envoys):
                if envoy.serves(gateway.target):
                    envoy.session.aim(gateway.target)
                    envoy.bell.set()
                else:  # its certificate is of an earlier Gateway of this name
                    gateway.envoys.remove(envoy)
                    envoy.dismiss(DENIED)
            gateway.ring()
        else:  # asked again: what was refused is tried again, because it may have been for a passing reason
            for envoy in gateway.envoys:
                if envoy.session.refusal is not None:
                    envoy.session.aim(gateway.target)
                    envoy.bell.set()
        target = gateway.target
        while True:
            if gateway.target is not target:
                return Superseded()
            refusals = [refused for envoy in gateway.envoys if (refused := envoy.session.refused) is not None]
            if refusals:
                return Rejected(refusals[0].message, refusals[0].resources)
            if gateway.envoys and all(envoy.session.done for envoy in gateway.envoys):
                break
            await gateway.changed.wait()
        hosts = [envoy.host for envoy in gateway.envoys]
        before, gateway.served = gateway.served, None
        await answering(snapshot, hosts, patient=before is not target)
        gateway.served = target
        return Served(len(hosts))

    def forget(self, key: Key) -> None:
        gateway = self._gateways.pop(key, None)
        if gateway is not None:
            gateway.target = None
            gateway.ring()
            for envoy in gateway.envoys:
                envoy.dismiss(GONE)
        self.presence.remove(key)

    # ---- one Envoy

    async def DeltaAggregatedResources(self, _requests: Any, context: Any) -> None:  # noqa: N802 - gRPC's name for it
        first = await context.read()
        if first is grpc.aio.EOF:
            return
        key, host = of_node(first.node.id)
        identity = of_certificate(context.auth_context()) if self._certified else None
        if self._certified and (identity is None or identity.gateway != key):
            log.warning("envoy denied: its certificate does not name its gateway", peer=context.peer())
            await context.abort(*DENIED)
        envoy = _Envoy(Session(), host or peer(context.peer()), identity)
        gateway = self.of(key)
        if gateway.target is not None:
            if not envoy.serves(gateway.target):
                await context.abort(*DENIED)
            envoy.session.aim(gateway.target)
        gateway.envoys.append(envoy)
        gateway.arrivals += 1
        self._publish_presence(key, gateway)
        log.info("envoy connected", gateway=str(key))
        try:
            await self._converse(gateway, envoy, first, context)
        finally:
            if envoy in gateway.envoys:
                gateway.envoys.remove(envoy)
            self._publish_presence(key, gateway)
            gateway.ring()
        if envoy.end is not None:
            await context.abort(*envoy.end)

    async def _converse(self, gateway: _Gateway, envoy: _Envoy, first: Any, context: Any) -> None:
        """Until the Envoy goes, or is to go."""
        both = [
            asyncio.ensure_future(self._read(gateway, envoy, first, context)),
            asyncio.ensure_future(self._write(gateway, envoy, context)),
        ]
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        for task in done:
            task.result()

    async def _read(self, gateway: _Gateway, envoy: _Envoy, first: Any, context: Any) -> None:
        request = first
        while request is not grpc.aio.EOF:
            self._handle(gateway, envoy, request)
            request = await context.read()

    def _handle(self, gateway: _Gateway, envoy: _Envoy, request: discovery_pb2.DeltaDiscoveryRequest) -> None:
        envoy.session.received(request)
        if request.HasField("error_detail"):
            log.warning("envoy refused", type=request.type_url, error=plain(request.error_detail.message))
        if envoy.session.names > MOST_NAMES:
            envoy.dismiss(TOO_MANY)
        envoy.bell.set()
        gateway.ring()

    async def _write(self, gateway: _Gateway, envoy: _Envoy, context: Any) -> None:
        while True:
            await envoy.bell.wait()
            envoy.bell.clear()
            if envoy.end is not None:
                return
            for response in envoy.session.responses():
                await context.write(response)
            if envoy.session.refusal is not None:
                gateway.ring()

    def _publish_presence(self, key: Key, gateway: _Gateway) -> None:
        if self._gateways.get(key) is gateway:
            self.presence.put(key, Presence(len(gateway.envoys), gateway.arrivals))


def grpc_server(servicer: XdsServer) -> grpc.aio.Server:
    """A server with keepalives that both sides allow.

    Envoy's own pings (`bootstrap`) are never too many: a server closes a connection for that by default, and every idle
    Gateway would lose its Envoys every few minutes.
    """
    options = (
        ("grpc.max_receive_message_length", LARGEST),
        ("grpc.keepalive_time_ms", KEEPALIVE * 1000),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT * 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT * 1000),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_time_between_pings_ms", KEEPALIVE * 1000),
        ("grpc.http2.min_ping_interval_without_data_ms", KEEPALIVE * 1000),
        ("grpc.http2.max_ping_strikes", 0),
    )
    server = grpc.aio.server(options=options)
    ads_pb2_grpc.add_AggregatedDiscoveryServiceServicer_to_server(servicer, server)
    return server


def peer(text: str) -> str:
    """The address of who is connected, from gRPC's spelling; this machine for a local socket."""
    if text.startswith(("ipv4:", "ipv6:")):
        return text[5:].rpartition(":")[0].strip("[]")
    return "127.0.0.1"


async def answering(snapshot: Snapshot, hosts: list[str], *, patient: bool) -> None:
    """Returns when Envoy has answered at each port, by every instance. `patient`: a port that is about to be bound is
    waited for."""
    loop = asyncio.get_running_loop()
    latest = loop.time() + (DEADLINE if patient else 0.0)
    for listener in snapshot.listeners.values():
        everywhere = any(address in EVERYWHERE for address in listener.addresses)
        addresses = hosts if everywhere else listener.addresses
        wait = 0.01
        while True:
            try:
                await probe(listener, snapshot.uid, addresses)
                break
            except Refusing:
                if loop.time() >= latest:
                    raise
            await asyncio.sleep(wait)
            wait = min(wait * 2, 1.0)
