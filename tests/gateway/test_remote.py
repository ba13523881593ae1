"""Envoys elsewhere: configured over TLS, with certificates on both sides."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from seamark.providers.dataplane.envoy import binary
from seamark.providers.dataplane.envoy.bootstrap import bootstrap, by_tls
from seamark.providers.dataplane.envoy.local import LocalEnvoys
from seamark.providers.dataplane.envoy.remote import Door, RemoteEnvoys
from seamark.providers.dataplane.protocol import Served
from tests.gateway.test_envoy import GATEWAY, PATIENCE, Scene, backend, text


class Authority:
    """Signs certificates for both sides."""

    def __init__(self, server: str = "localhost") -> None:
        self._server = server
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self.certificate = self._sign(self._name, self._key, authority=True)

    def _sign(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, authority: bool) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(self._server)]), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def fill(self, directory: Path) -> Path:
        directory.mkdir()
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, directory.name)])
        (directory / "tls.crt").write_bytes(self._sign(name, key, authority=False))
        (directory / "tls.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        (directory / "ca.crt").write_bytes(self.certificate)
        return directory


def free_port() -> int:
    while True:
        port = random.randint(20000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


@asynccontextmanager
async def serving(certificates: Path, port: int) -> AsyncIterator[RemoteEnvoys]:
    plane = RemoteEnvoys(Door(f"localhost:{port}", certificates))
    running = asyncio.ensure_future(plane.run())
    try:
        yield plane
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def envoy(folder: Path, port: int, certificates: Path) -> AsyncIterator[None]:
    config = folder / "envoy.json"
    config.write_text(json.dumps(bootstrap(GATEWAY, by_tls("localhost", port, str(certificates)))))
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
    ours, theirs = authority.fill(tmp_path / "server"), authority.fill(tmp_path / "client")
    address = f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"

    async def story() -> None:
        async with serving(ours, port) as plane, envoy(tmp_path, port, theirs), backend("one") as one:
            scene = Scene(LocalEnvoys(None), address, {"one": one})
            async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
                assert await plane.program(GATEWAY, scene.snapshot(("/", "one"))) == Served(1)
                assert await text(session, scene.url("/")) == (200, "one")

    asyncio.run(story())


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
