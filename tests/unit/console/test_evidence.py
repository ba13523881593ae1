"""What a console hears from several operators, and what it makes of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import pytest
from aiohttp import web

from seamark.console import evidence
from seamark.console.access import Person
from seamark.console.evidence import Elsewhere
from seamark.explain import kinds
from seamark.explain.live import Known, Place
from seamark_cluster.real.ports import Ports
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.evidence import STANDS_BY
from seamark_runtime.site import Site

WEB = (kinds.SERVICE, Key("default", "web"))
Replica = tuple[str, ...] | Retry


def heard(monkeypatch: pytest.MonkeyPatch, *replicas: Replica) -> tuple[str, ...]:
    """Of `WEB`, from replicas at addresses of one name."""
    answers = {f"http://127.0.0.{number}:8091": told for number, told in enumerate(replicas, 1)}

    async def ask(url: str, _token: str, about: Sequence[Place], _patience: float) -> Known:
        told = answers[url]
        if isinstance(told, Retry):
            raise told
        return dict.fromkeys(about, told)

    async def urls(_: Elsewhere) -> list[str]:
        return list(answers)

    monkeypatch.setattr(evidence, "ask", ask)
    monkeypatch.setattr(Elsewhere, "_urls", urls)
    return asyncio.run(Elsewhere("operators:8091").tell("token", Person("ann"), [WEB]))[WEB]


def test_who_leads_is_believed_and_who_stands_by_is_not_heard_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    standing = ("source: API server", STANDS_BY)
    assert heard(monkeypatch, standing, ("edge: answered 2 s ago",)) == ("edge: answered 2 s ago",)
    assert heard(monkeypatch, standing, ()) == standing


def test_families_that_run_apart_all_have_their_word(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heard(monkeypatch, ("edge: answered 2 s ago",), (), ("zone: answered 1 s ago",)) == (
        "edge: answered 2 s ago",
        "zone: answered 1 s ago",
    )


def test_a_replica_that_does_not_answer_silences_nobody_and_all_of_them_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert heard(monkeypatch, Retry("answered 500"), ("edge: answered 2 s ago",)) == ("edge: answered 2 s ago",)
    with pytest.raises(Retry, match=r"operators:8091: answered 500; answered 401"):
        heard(monkeypatch, Retry("answered 500"), Retry("answered 401"))


def test_one_that_hangs_keeps_nobody_from_hearing_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response([["edge: answered 2 s ago"]])

    async def case(silent: int, port: int) -> Known:
        app = web.Application()
        app.router.add_post("/api/evidence", answer)
        site = Site("evidence", "")
        await site.open(app, f"127.0.0.1:{port}")
        try:
            return await Elsewhere(f"operators:{silent}").tell("token", Person("ann"), [WEB])
        finally:
            await site.close()

    monkeypatch.setattr(evidence, "PATIENCE", 0.3)
    with Ports("127.0.0.1") as ports, socket.create_server(("127.0.0.1", 0)) as hangs:
        places = (hangs.getsockname()[1], ports.reserve())

        async def urls(_: Elsewhere) -> list[str]:
            return [f"http://127.0.0.1:{port}" for port in places]

        monkeypatch.setattr(Elsewhere, "_urls", urls)
        assert asyncio.run(case(*places)) == {WEB: ("edge: answered 2 s ago",)}


def test_a_name_that_nobody_has_is_told() -> None:
    with pytest.raises(Retry, match=r"no operator can be asked at nobody.invalid:8091"):
        asyncio.run(Elsewhere("nobody.invalid:8091").tell("token", Person("ann"), [WEB]))


@pytest.mark.parametrize("address", ["operators", ":8091", "operators:http"])
def test_what_is_no_address_is_told(address: str) -> None:
    with pytest.raises(UserError, match="write HOST:PORT"):
        Elsewhere(address)
