"""The transport over TLS: whom we trust, and who we say we are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from seamark.cluster.real.pki import Pki
from seamark.core.connection import Connection
from seamark.core.transport import NoAnswerError
from tests.unit.core.test_http import GET, to, transport
from tests.unit.core.tls_server import serving


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
