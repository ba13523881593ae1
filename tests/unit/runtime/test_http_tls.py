"""The transport over TLS: whom we trust, and who we say we are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from seamark_cluster.real.pki import Pki
from seamark_runtime.connection import Connection
from seamark_runtime.errors import UserError
from seamark_runtime.http import HttpTransport
from seamark_runtime.transport import HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import api_path
from tests.unit.runtime.test_http import GET, Steps, to, transport
from tests.unit.runtime.tls_server import serving

WATCH = HttpRequest("GET", api_path("/api/v1/watched"))


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


def test_a_server_of_our_authority_is_trusted_and_no_other(pki: Pki, tmp_path: Path) -> None:
    stranger = Pki(tmp_path / "stranger")

    async def program() -> None:
        async with serving(pki) as seen:
            async with transport(to(seen, pki)) as made:
                assert (await made.send(GET)).status == 200
            async with transport(to(seen, stranger)) as made:
                with pytest.raises(NoAnswerError, match="certificate is not trusted") as caught:
                    await made.send(GET)
                assert not caught.value.sent
            async with transport(replace(to(seen, stranger), verify=False)) as made:
                assert (await made.send(GET)).status == 200

    asyncio.run(program())


def test_a_client_certificate_says_who_we_are(pki: Pki) -> None:
    async def program() -> None:
        certificate, key = pki.client("carol")
        async with serving(pki, ask_certificate=True) as seen:
            ours = to(seen, pki, certificate_pem=certificate.read_text(), key_pem=key.read_text())
            async with transport(ours) as made:
                assert (await made.send(GET)).status == 200
                assert seen.subjects == ["carol"]
            async with transport(to(seen, pki)) as made:
                with pytest.raises(NoAnswerError):
                    await made.send(GET)

    asyncio.run(program())


def test_a_new_client_certificate_is_used_from_then_on(pki: Pki) -> None:
    refused = True

    async def once(_request: web.Request) -> web.StreamResponse:
        nonlocal refused
        refused, status = False, 401 if refused else 200
        return web.Response(status=status)

    async def program() -> None:
        async with serving(pki, once, ask_certificate=True) as seen:
            people = []
            for name in ("carol", "dave"):
                certificate, key = pki.client(name)
                people.append(to(seen, pki, certificate_pem=certificate.read_text(), key_pem=key.read_text()))
            async with transport(*people) as made:
                assert (await made.send(GET)).status == 200
            assert seen.subjects == ["carol", "dave"]

    asyncio.run(program())


def test_a_certificate_read_in_the_middle_of_its_rotation_leaves_the_old_one_in_use(pki: Pki) -> None:
    clock = Steps()

    async def program() -> None:
        async with serving(pki, ask_certificate=True) as seen:
            (old, old_key), (new, new_key) = pki.client("carol"), pki.client("dave")
            halves = [(old, old_key), (new, old_key), (new, new_key)]
            loads = [to(seen, pki, certificate_pem=a.read_text(), key_pem=b.read_text()) for a, b in halves]

            async def load() -> Connection:
                return loads.pop(0)

            made = await HttpTransport(load, clock=clock).open()  # type: ignore[arg-type]
            for moment in (0, 61, 67):
                clock.now = moment
                assert (await made.send(GET)).status == 200
            await made.close()
            assert seen.subjects == ["carol", "carol", "dave"]

    asyncio.run(program())


def test_a_stream_goes_on_when_new_credentials_are_in_use(pki: Pki) -> None:
    """Closed under it, a watch would wait for its idle time, and its kind would not be reconciled for minutes."""
    clock, renewed = Steps(), asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        if request.path != WATCH.path:
            return web.Response()
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"before")
        await renewed.wait()
        await response.write(b"after")
        return response

    async def program() -> None:
        async with serving(pki, endless, ask_certificate=True) as seen:
            pairs = [pki.client(name) for name in ("carol", "dave")]
            loads = [to(seen, pki, certificate_pem=a.read_text(), key_pem=b.read_text()) for a, b in pairs]

            async def load() -> Connection:
                return loads.pop(0)

            made = await HttpTransport(load, clock=clock).open()  # type: ignore[arg-type]
            async with made.stream(WATCH) as stream:
                chunks = stream.chunks()
                assert await anext(chunks) == b"before"
                clock.now = 61
                assert (await made.send(GET)).status == 200
                renewed.set()
                assert await asyncio.wait_for(anext(chunks), 5) == b"after"
            await made.close()
            assert seen.subjects == ["carol", "dave"]

    asyncio.run(program())


def test_a_certificate_without_its_key_is_told_at_the_start(pki: Pki) -> None:
    (certificate, _), (_, key) = pki.client("carol"), pki.client("dave")
    mixed = Connection("https://127.0.0.1:1", certificate_pem=certificate.read_text(), key_pem=key.read_text())
    with pytest.raises(UserError, match=r"can't be used .KEY_VALUES_MISMATCH."):
        mixed.tls()


def test_the_name_that_a_servers_certificate_must_have_can_differ_from_its_address(pki: Pki) -> None:
    async def program() -> None:
        async with serving(pki, name="api.example") as seen:
            async with transport(to(seen, pki, server_name="api.example")) as made:
                assert (await made.send(GET)).status == 200
            async with transport(to(seen, pki)) as made:
                with pytest.raises(NoAnswerError, match="certificate"):
                    await made.send(GET)

    asyncio.run(program())


def test_requests_go_through_the_proxy_that_is_named() -> None:
    async def program() -> None:
        async with serving(None) as proxy:
            named = Connection("http://api.invalid:6443", proxy=proxy.url)
            async with transport(named) as made:
                assert (await made.send(GET)).status == 200
            assert proxy.requests[0].headers["Host"] == "api.invalid:6443"

    asyncio.run(program())
