"""A real Envoy, configured over delta xDS: what is reported as served is served, and no request is lost."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from seamark_edge.dataplane.envoy import binary, bootstrap
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.envoy.probe import DEADLINE
from seamark_edge.dataplane.envoy.server import KEEPALIVE, KEEPALIVE_TIMEOUT
from seamark_edge.dataplane.model import (
    Chain,
    Cluster,
    Endpoints,
    Entry,
    Forward,
    Listener,
    Match,
    Origin,
    RouteTable,
    Secret,
    ServerTls,
    Snapshot,
    Target,
    Validation,
    VirtualHost,
)
from seamark_edge.dataplane.protocol import Outcome, Rejected, Served
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from seamark_runtime.source import Fresh

GATEWAY = Key("default", "web")
ORIGIN = Origin("HTTPRoute", "default", "hello")
PATIENCE = 60.0


@dataclass
class Scene:
    plane: LocalEnvoys
    address: str
    backends: dict[str, int] = field(default_factory=dict)  # name → port

    def snapshot(self, *routes: tuple[str, str], regex: str = "", secret: Secret | None = None) -> Snapshot:
        """Routes are (prefix, backend)."""
        entries = [Entry(Match(prefix), Forward((Target(name),)), ORIGIN) for prefix, name in routes]
        if regex:
            entries.append(Entry(Match(regex, kind="regex"), Forward((Target(routes[0][1]),)), ORIGIN))
        names = {name for _, name in routes}
        tls = ServerTls((secret.name,)) if secret is not None else None
        chain = Chain("http", tls=tls, table="http")
        return Snapshot(
            listeners={"8080": Listener("8080", (self.address,), 8080, (chain,), inspect=tls is not None)},
            tables={"http": RouteTable("http", (VirtualHost(("*",), tuple(entries)),))},
            clusters={name: Cluster(name) for name in names},
            endpoints={name: Endpoints(name, (("127.0.0.1", self.backends[name]),)) for name in names},
            secrets={secret.name: secret} if secret is not None else {},
        )

    async def program(self, snapshot: Snapshot) -> Outcome:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await self.plane.program(GATEWAY, snapshot)
                except Retry:
                    await asyncio.sleep(0.05)  # its server is not up yet

    def url(self, path: str, scheme: str = "http") -> str:
        return f"{scheme}://{self.address}:8080{path}"


@asynccontextmanager
async def backend(name: str) -> AsyncIterator[int]:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=name)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def with_envoy(test: Callable[[Scene], Awaitable[None]]) -> None:
    async def story() -> None:
        plane = LocalEnvoys(binary.install())
        running = asyncio.ensure_future(plane.run())
        address = f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"
        try:
            async with backend("one") as one, backend("two") as two:
                await test(Scene(plane, address, {"one": one, "two": two}))
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(story())


async def text(session: aiohttp.ClientSession, url: str) -> tuple[int, str]:
    async with session.get(url) as response:
        return response.status, await response.text()


def test_served_means_that_requests_are_answered() -> None:
    async def test(scene: Scene) -> None:
        assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
        async with aiohttp.ClientSession() as session:
            assert await text(session, scene.url("/")) == (200, "one")
            assert await scene.program(scene.snapshot(("/", "two"))) == Served(1)
            assert await text(session, scene.url("/")) == (200, "two")

    with_envoy(test)


def test_a_refusal_has_envoys_words_and_leaves_the_last_good_routes_served() -> None:
    async def test(scene: Scene) -> None:
        await scene.program(scene.snapshot(("/", "one")))
        outcome = await scene.program(scene.snapshot(("/", "two"), regex="/("))
        assert isinstance(outcome, Rejected)
        assert "missing )" in outcome.message
        assert outcome.resources == ("http",)
        async with aiohttp.ClientSession() as session:
            assert await text(session, scene.url("/")) == (200, "one")
            assert await scene.program(scene.snapshot(("/", "two"))) == Served(1)
            assert await text(session, scene.url("/")) == (200, "two")

    with_envoy(test)


def test_two_hundred_changes_under_load_lose_no_request() -> None:
    """Routes, clusters and endpoints change all the time; every request is answered by one that was meant."""

    async def test(scene: Scene) -> None:
        await scene.program(scene.snapshot(("/", "one")))
        answers: dict[tuple[int, str], int] = {}
        done = asyncio.Event()

        async def client() -> None:
            async with aiohttp.ClientSession() as session:
                while not done.is_set():
                    got = await text(session, scene.url("/"))
                    answers[got] = answers.get(got, 0) + 1

        clients = [asyncio.ensure_future(client()) for _ in range(8)]
        for number in range(200):
            names = ("one", "two") if number % 2 else ("two", "one")
            snapshot = scene.snapshot(("/", names[0]), (f"/{number}", names[number % 3 and 1]))
            if number % 5 == 0:
                changed = {name: replace(one, protocol="http1") for name, one in snapshot.clusters.items()}
                snapshot = replace(snapshot, clusters=changed)
            assert await scene.program(snapshot) == Served(1)
        done.set()
        await asyncio.gather(*clients)
        assert set(answers) == {(200, "one"), (200, "two")}, answers
        assert sum(answers.values()) > 200

    with_envoy(test)


def test_an_envoy_that_dies_comes_back_with_everything() -> None:
    async def test(scene: Scene) -> None:
        snapshot = scene.snapshot(("/", "one"))
        await scene.program(snapshot)
        [pid] = envoys()
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
            while arrivals(scene) < 2:
                await asyncio.sleep(0.05)
            assert await scene.program(snapshot) == Served(1)
            assert await text(session, scene.url("/")) == (200, "one")

    with_envoy(test)


def test_an_idle_envoy_stays_connected_however_often_it_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "KEEPALIVE", "0.3s")

    async def test(scene: Scene) -> None:
        await scene.program(scene.snapshot(("/", "one")))
        for _ in range(30):
            await asyncio.sleep(0.2)
            assert connected(scene) == 1
        assert arrivals(scene) == 1

    with_envoy(test)


def test_an_envoy_that_is_frozen_is_absent_within_its_keepalive_and_comes_back() -> None:
    async def test(scene: Scene) -> None:
        await scene.program(scene.snapshot(("/", "one")))
        [pid] = envoys()
        os.kill(pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(KEEPALIVE + KEEPALIVE_TIMEOUT + 3):
                while connected(scene):
                    await asyncio.sleep(0.05)
        finally:
            os.kill(pid, signal.SIGCONT)
        async with asyncio.timeout(PATIENCE):
            while not connected(scene):
                await asyncio.sleep(0.05)
        assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)

    with_envoy(test)


def test_an_envoy_that_is_frozen_is_reported_before_its_keepalive_and_accepted_connections_prove_nothing() -> None:
    async def test(scene: Scene) -> None:
        snapshot = scene.snapshot(("/", "one"))
        await scene.program(snapshot)
        [pid] = envoys()
        os.kill(pid, signal.SIGSTOP)
        try:
            _, writer = await asyncio.open_connection(scene.address, 8080)
            writer.close()
            with pytest.raises(Retry, match="accepts connections and answers no request"):
                async with asyncio.timeout(DEADLINE + 1):
                    await scene.plane.program(GATEWAY, snapshot)
        finally:
            os.kill(pid, signal.SIGCONT)

    with_envoy(test)


def test_a_listener_that_requires_client_certificates_is_probed_by_its_handshake() -> None:
    async def test(scene: Scene) -> None:
        secret = certificate("first.example.com")
        snapshot = scene.snapshot(("/", "one"), secret=secret)
        listener = snapshot.listeners["8080"]
        tls = ServerTls((secret.name,), Validation(secret.chain))
        strict = replace(listener, chains=(replace(listener.chains[0], tls=tls),))
        assert await scene.program(replace(snapshot, listeners={"8080": strict})) == Served(1)

    with_envoy(test)


def connected(scene: Scene) -> int:
    fact = scene.plane.presence.get(GATEWAY, 0.0)
    return fact.value.connected if isinstance(fact, Fresh) else 0


def arrivals(scene: Scene) -> int:
    fact = scene.plane.presence.get(GATEWAY, 0.0)
    return fact.value.arrivals if isinstance(fact, Fresh) else 0


def envoys() -> list[int]:
    """The Envoys that this process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == os.getpid() and b"envoy" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_a_gateway_that_goes_takes_its_envoy_along() -> None:
    async def test(scene: Scene) -> None:
        await scene.program(scene.snapshot(("/", "one")))
        assert len(envoys()) == 1
        await scene.plane.remove(GATEWAY)
        assert envoys() == []

    with_envoy(test)


def certificate(name: str) -> Secret:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Secret("default/cert", made.public_bytes(Encoding.PEM), private)


async def shown(scene: Scene) -> str:
    """The name in the certificate that a client is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(scene.address, 8080, ssl=context, server_hostname="any.example.com")
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return x509.load_der_x509_certificate(der).subject.rfc4514_string()


def test_a_rotated_certificate_is_shown_at_once() -> None:
    async def test(scene: Scene) -> None:
        await scene.program(scene.snapshot(("/", "one"), secret=certificate("first.example.com")))
        assert await shown(scene) == "CN=first.example.com"
        await scene.program(scene.snapshot(("/", "one"), secret=certificate("second.example.com")))
        assert await shown(scene) == "CN=second.example.com"

    with_envoy(test)


async def refusal(plane: LocalEnvoys) -> str:
    """What a Gateway reports once the data plane is up."""
    running = asyncio.ensure_future(plane.run())
    try:
        while True:
            try:
                await plane.program(GATEWAY, Snapshot())
            except Retry as error:
                if "not up yet" not in error.message:
                    return error.message
            await asyncio.sleep(0.05)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_without_an_envoy_everybody_is_told() -> None:
    assert "seamark gateway envoy" in asyncio.run(refusal(LocalEnvoys(None)))


def test_an_envoy_of_an_old_version_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "envoy"
    old.write_text("#!/bin/sh\necho envoy  version: 0123/1.20.7/Clean/RELEASE/BoringSSL\n")
    old.chmod(0o755)
    assert "1.20.7" in binary.trouble(old)
