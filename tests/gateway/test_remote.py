"""Envoys elsewhere: configured over TLS, with certificates on both sides."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import grpc
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.bootstrap import bootstrap, by_tls, tls_files
from seamark_edge.dataplane.envoy.identity import Identity
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.envoy.remote import RemoteEnvoys, XdsListener
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Served
from seamark_runtime.api.meta import Key
from seamark_runtime.signing import issue, make_authority
from tests.gateway.test_envoy import GATEWAY, PATIENCE, Scene, backend, text

IDENTITY = Identity(GATEWAY, "5f0c")


class Authority:
    """Signs certificates for both sides."""

    def __init__(self, server: str = "localhost") -> None:
        self._server = server
        self.files = make_authority(datetime.now(UTC))

    def fill(self, directory: Path, identity: Identity | None = None) -> Path:
        """A directory with the files of the server, or of an Envoy with this identity."""
        directory.mkdir(exist_ok=True)
        names = (identity.uri if identity is not None else self._server,)
        for name, content in issue(self.files, names, datetime.now(UTC)).items():
            (directory / name).write_bytes(content)
        return directory


def free_port() -> int:
    while True:
        port = random.randint(20000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


@asynccontextmanager
async def serving(certificates: Path, port: int) -> AsyncIterator[RemoteEnvoys]:
    plane = RemoteEnvoys(XdsListener(f"localhost:{port}", certificates))
    running = asyncio.ensure_future(plane.run())
    try:
        yield plane
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def envoy(folder: Path, port: int, certificates: Path) -> AsyncIterator[None]:
    config = folder / "envoy.json"
    config.write_text(json.dumps(bootstrap(GATEWAY, by_tls("localhost", port, str(folder)))))
    for name, content in tls_files(str(certificates)).items():
        (folder / name).write_text(json.dumps(content))
    process = await asyncio.create_subprocess_exec(
        str(binary.install()),
        *("-c", str(config), "--concurrency", "1", "--disable-hot-restart", "--log-level", "critical"),
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


def test_an_envoy_with_a_certificate_is_configured_over_the_network(tmp_path: Path) -> None:
    authority, port = Authority(), free_port()
    ours, theirs = authority.fill(tmp_path / "server"), authority.fill(tmp_path / "client", IDENTITY)
    address = f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"

    async def story() -> None:
        async with serving(ours, port) as plane, envoy(tmp_path, port, theirs), backend("one") as one:
            scene = Scene(LocalEnvoys(None), address, {"one": one})
            async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
                assert await plane.program(GATEWAY, of_gateway(scene.snapshot(("/", "one")))) == Served(1)
                assert await text(session, scene.url("/")) == (200, "one")

    asyncio.run(story())


def test_a_port_for_envoys_that_is_taken_is_used_when_it_is_free(tmp_path: Path) -> None:
    authority, port = Authority(), free_port()
    ours, theirs = authority.fill(tmp_path / "server"), authority.fill(tmp_path / "client", IDENTITY)
    address = f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"

    async def story() -> None:
        with socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True):
            plane = RemoteEnvoys(XdsListener(f"localhost:{port}", ours))
            running = asyncio.ensure_future(plane.run())
            await asyncio.sleep(1.5)
        async with envoy(tmp_path, port, theirs), backend("one") as one, asyncio.timeout(10):
            scene = Scene(LocalEnvoys(None), address, {"one": one})
            assert await plane.program(GATEWAY, of_gateway(scene.snapshot(("/", "one")))) == Served(1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(story())


def test_what_was_removed_between_two_operators_is_not_served_by_the_second(tmp_path: Path) -> None:
    """A stream to the second one begins with what Envoy has."""
    authority, port = Authority(), free_port()
    ours, theirs = authority.fill(tmp_path / "server"), authority.fill(tmp_path / "client", IDENTITY)
    address = f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"

    async def story() -> None:
        async with envoy(tmp_path, port, theirs), backend("one") as one, asyncio.timeout(PATIENCE):
            scene = Scene(LocalEnvoys(None), address, {"one": one})
            after = of_gateway(scene.snapshot(("/", "one")))
            second = replace(after.listeners["8080"], name="8081", port=8081)
            before = replace(after, listeners={**after.listeners, "8081": second})
            async with serving(ours, port) as plane:
                assert await plane.program(GATEWAY, before) == Served(1)
                assert await answers(address, 8081)
            async with serving(ours, port) as plane:
                assert await answers(address, 8081)  # meanwhile all is served as it was
                assert await plane.program(GATEWAY, after) == Served(1)
                assert await answers(address, 8080)
                assert not await answers(address, 8081)

    asyncio.run(story())


async def answers(address: str, port: int) -> bool:
    try:
        async with aiohttp.ClientSession() as session:
            return await text(session, f"http://{address}:{port}/") == (200, "one")
    except aiohttp.ClientConnectionError:
        return False


def of_gateway(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, uid=IDENTITY.uid)


def test_an_envoy_takes_up_a_renewed_certificate_without_a_restart(tmp_path: Path) -> None:
    """It is denied with a certificate of another Gateway; when its files have changed, it is served."""
    authority, port = Authority(), free_port()
    ours, theirs = authority.fill(tmp_path / "server"), tmp_path / "client"
    theirs.mkdir()
    mount(theirs, authority.fill(tmp_path / "old", Identity(Key("default", "other"), "o")))
    address = f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"

    async def story() -> None:
        async with serving(ours, port) as plane, envoy(tmp_path, port, theirs), backend("one") as one:
            scene = Scene(LocalEnvoys(None), address, {"one": one})
            programming = asyncio.ensure_future(plane.program(GATEWAY, of_gateway(scene.snapshot(("/", "one")))))
            await asyncio.sleep(3)
            assert not programming.done()
            mount(theirs, authority.fill(tmp_path / "new", IDENTITY))
            async with asyncio.timeout(PATIENCE):
                assert await programming == Served(1)

    asyncio.run(story())


def mount(directory: Path, files: Path) -> None:
    """As a kubelet mounts a Secret: what is in the directory changes at once, by the rename of a link."""
    link = directory / "..tmp"
    link.symlink_to(files)
    link.rename(directory / "..data")
    for name in ("tls.crt", "tls.key", "ca.crt"):
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")


def test_who_has_no_certificate_of_ours_hears_nothing(tmp_path: Path) -> None:
    port = free_port()
    ours, stranger = Authority().fill(tmp_path / "server"), Authority().fill(tmp_path / "stranger")

    async def story() -> Any:
        async with serving(ours, port):
            await asyncio.sleep(0.5)
            trusted = (ours / "ca.crt").read_bytes()
            shown = ((stranger / "tls.key").read_bytes(), (stranger / "tls.crt").read_bytes())
            credentials = grpc.ssl_channel_credentials(trusted, *shown)
            async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
                stub = ads_pb2_grpc.AggregatedDiscoveryServiceStub(channel)
                stream = stub.DeltaAggregatedResources()
                try:
                    await stream.write(discovery_pb2.DeltaDiscoveryRequest())
                    await stream.read()
                except grpc.aio.AioRpcError as error:
                    return error.code()
                except asyncio.InvalidStateError:
                    return await stream.code()
                return await stream.code()

    assert asyncio.run(story()) == grpc.StatusCode.UNAVAILABLE
