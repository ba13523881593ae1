"""The identity of an Envoy: its certificate names one Gateway, whose configuration and keys are all that it gets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from seamark_edge.dataplane.envoy.identity import Identity, of_certificate, of_node
from seamark_edge.dataplane.envoy.remote import credentials
from seamark_edge.dataplane.envoy.resources import SDS
from seamark_edge.dataplane.envoy.server import MOST_NAMES, XdsServer
from seamark_edge.dataplane.model import Cluster, Endpoints, Secret, Snapshot
from seamark_runtime.api.meta import Key
from seamark_runtime.signing import issue, make_authority
from seamark_runtime.source import Facts, Fresh

HOST = "xds.example.svc"
A, B = Identity(Key("tenant-a", "web"), "uid-a"), Identity(Key("tenant-b", "web"), "uid-b")
CA = make_authority(datetime.now(UTC))


def snapshot(identity: Identity) -> Snapshot:
    name = f"{identity.gateway}:80"
    secret = Secret(f"{identity.gateway.namespace}/cert", b"chain", f"key of {identity.gateway}".encode())
    return Snapshot(
        clusters={name: Cluster(name)},
        endpoints={name: Endpoints(name)},
        secrets={secret.name: secret},
        uid=identity.uid,
    )


class Scene:
    """An xDS server that has the configuration of both Gateways, and clients with certificates."""

    def __init__(self) -> None:
        self.presence: Facts[Key, Any] = Facts("data plane")
        self.server = XdsServer(self.presence, certified=True)
        self.port = 0
        self.programming: list[asyncio.Future[Any]] = []

    def program(self, identity: Identity) -> None:
        self.programming.append(asyncio.ensure_future(self.server.program(identity.gateway, snapshot(identity))))

    def channel(self, *names: str) -> grpc.aio.Channel:
        files = issue(CA, names, datetime.now(UTC))
        shown = grpc.ssl_channel_credentials(files["ca.crt"], files["tls.key"], files["tls.crt"])
        options = [("grpc.ssl_target_name_override", HOST)]
        return grpc.aio.secure_channel(f"127.0.0.1:{self.port}", shown, options)


def with_server(tmp_path: Path, test: Callable[[Scene], Awaitable[None]]) -> None:
    for name, content in issue(CA, (HOST,), datetime.now(UTC)).items():
        (tmp_path / name).write_bytes(content)

    async def case() -> None:
        scene, server = Scene(), grpc.aio.server()
        ads_pb2_grpc.add_AggregatedDiscoveryServiceServicer_to_server(scene.server, server)
        scene.port = server.add_secure_port("127.0.0.1:0", credentials(tmp_path))
        await server.start()
        try:
            async with asyncio.timeout(20):
                await test(scene)
        finally:
            for each in scene.programming:
                each.cancel()
            await server.stop(None)

    asyncio.run(case())


def request(kind: str, node: str, *names: str) -> discovery_pb2.DeltaDiscoveryRequest:
    asked = discovery_pb2.DeltaDiscoveryRequest(type_url=kind, resource_names_subscribe=names)
    asked.node.id = node
    return asked


class Stream:
    """A client's stream: what it got, or how it ended."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._call = ads_pb2_grpc.AggregatedDiscoveryServiceStub(channel).DeltaAggregatedResources()

    async def ask(self, *requests: discovery_pb2.DeltaDiscoveryRequest) -> None:
        for one in requests:
            await self._call.write(one)

    async def answer(self) -> discovery_pb2.DeltaDiscoveryResponse | grpc.StatusCode:
        try:
            got = await self._call.read()
        except grpc.aio.AioRpcError as error:
            return error.code()
        if got is grpc.aio.EOF:
            code: grpc.StatusCode = await self._call.code()
            return code
        assert isinstance(got, discovery_pb2.DeltaDiscoveryResponse)
        return got


async def asked(scene: Scene, names: tuple[str, ...], node: str, secret: str) -> Any:
    """The answer to a client with a certificate for these names that claims to be this node, and asks for a key."""
    async with scene.channel(*names) as channel:
        stream = Stream(channel)
        await stream.ask(request(SDS, node, secret))
        return await stream.answer()


def test_an_envoy_gets_the_keys_of_the_gateway_that_its_certificate_names(tmp_path: Path) -> None:
    async def test(scene: Scene) -> None:
        scene.program(A)
        scene.program(B)
        got = await asked(scene, (A.uri,), "tenant-a/web/127.0.0.1", "tenant-a/cert")
        assert [one.name for one in got.resources] == ["tenant-a/cert"]
        assert b"key of tenant-a/web" in got.resources[0].resource.value

    with_server(tmp_path, test)


@pytest.mark.parametrize(
    "names",
    [
        (A.uri,),
        (A.uri, B.uri),  # one certificate for two Gateways is for none
        ("seamark-xds-client",),  # what all Envoys shared once
        (B.gateway.namespace,),
        (f"spiffe://gateway/{B.gateway.namespace}/{B.gateway.name}/{B.uid}",),
        (Identity(B.gateway, "uid-of-an-earlier-one").uri,),
    ],
)
def test_whoever_has_another_certificate_is_denied(names: tuple[str, ...], tmp_path: Path) -> None:
    async def test(scene: Scene) -> None:
        scene.program(A)
        scene.program(B)
        got = await asked(scene, names, "tenant-b/web/127.0.0.1", "tenant-b/cert")
        assert got == grpc.StatusCode.PERMISSION_DENIED
        assert not isinstance(scene.presence.get(B.gateway, 0.0), Fresh)  # it does not count as one of B's Envoys

    with_server(tmp_path, test)


def test_an_envoy_of_a_gateway_of_the_same_name_that_is_gone_is_denied_when_the_new_one_comes(tmp_path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with scene.channel(Identity(B.gateway, "uid-of-an-earlier-one").uri) as channel:
            stream = Stream(channel)
            await stream.ask(request(SDS, "tenant-b/web", "tenant-b/cert"))
            while not isinstance(scene.presence.get(B.gateway, 0.0), Fresh):
                await asyncio.sleep(0)
            scene.program(B)
            assert await stream.answer() == grpc.StatusCode.PERMISSION_DENIED

    with_server(tmp_path, test)


def test_the_streams_of_a_gateway_that_goes_are_ended(tmp_path: Path) -> None:
    async def test(scene: Scene) -> None:
        scene.program(A)
        async with scene.channel(A.uri) as channel:
            stream = Stream(channel)
            await stream.ask(request(SDS, "tenant-a/web", "tenant-a/cert"))
            assert not isinstance(await stream.answer(), grpc.StatusCode)
            scene.server.forget(A.gateway)
            assert await stream.answer() == grpc.StatusCode.UNAVAILABLE

    with_server(tmp_path, test)


def test_who_asks_for_too_many_names_is_ended(tmp_path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with scene.channel(A.uri) as channel:
            stream = Stream(channel)
            for start in range(0, MOST_NAMES + 1, 50_000):
                names = (str(number) for number in range(start, start + 50_000))
                await stream.ask(request(SDS, "tenant-a/web", *names))
            assert await stream.answer() == grpc.StatusCode.RESOURCE_EXHAUSTED

    with_server(tmp_path, test)


def test_a_uri_names_a_gateway_and_nothing_besides() -> None:
    assert of_certificate({"peer_uri": [A.uri.encode()]}) == A
    for uri in (b"seamark://gateway/a/b", b"seamark://gateway/a/b/c/d", b"seamark://gateway/a//c", b"\xff", b""):
        assert of_certificate({"peer_uri": [uri]}) is None
    assert of_certificate({}) is None


def test_the_address_that_a_node_says_it_has_is_an_address_or_nothing() -> None:
    assert of_node("shop/web/10.0.0.1") == (Key("shop", "web"), "10.0.0.1")
    assert of_node("shop/web") == (Key("shop", "web"), "")
    assert of_node("shop/web/" + "x" * 70 + ".example") == (Key("shop", "web"), "")


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "fe80::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fd00:ec2::254", "0.0.0.0", "::"],
)
def test_an_envoy_does_not_lead_our_probes_to_where_no_tenant_may(address: str) -> None:
    """The address that its connection comes from is probed instead."""
    assert of_node(f"tenant-a/web/{address}") == (A.gateway, "")
    assert of_node("tenant-a/web/10.244.0.7") == (A.gateway, "10.244.0.7")
