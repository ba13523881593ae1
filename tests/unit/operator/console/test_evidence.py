"""What a console receives from several operators, and what it shows of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import pytest
from aiohttp import web

from seamark.console import evidence
from seamark.console.access import User
from seamark.console.evidence import RemoteEvidence
from seamark.explain import kinds
from seamark.explain.live import KnownEvidence, ObjectRef
from seamark_cluster.real.ports import Ports
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.evidence import STANDS_BY
from seamark_runtime.site import Site

WEB = (kinds.SERVICE, Key("default", "web"))
Replica = tuple[str, ...] | Retry


def evidence_from(monkeypatch: pytest.MonkeyPatch, *replicas: Replica) -> tuple[str, ...]:
    """Of `WEB`, from replicas at addresses of one name."""
    answers = {f"http://127.0.0.{number}:8091": reply for number, reply in enumerate(replicas, 1)}

    async def request(url: str, _token: str, about: Sequence[ObjectRef], _timeout: float) -> KnownEvidence:
        reply = answers[url]
        if isinstance(reply, Retry):
            raise reply
        return dict.fromkeys(about, reply)

    async def urls(_: RemoteEvidence) -> list[str]:
        return list(answers)

    monkeypatch.setattr(evidence, "request_evidence", request)
    monkeypatch.setattr(RemoteEvidence, "_urls", urls)
    return asyncio.run(RemoteEvidence("operators:8091").evidence_of("token", User("ann"), [WEB]))[WEB]


def test_the_evidence_of_the_leader_replaces_that_of_standby_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    standing = ("source: API server", STANDS_BY)
    assert evidence_from(monkeypatch, standing, ("edge: answered 2 s ago",)) == ("edge: answered 2 s ago",)
    assert evidence_from(monkeypatch, standing, ()) == standing


def test_the_evidence_of_all_leaders_is_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert evidence_from(monkeypatch, ("edge: answered 2 s ago",), (), ("zone: answered 1 s ago",)) == (
        "edge: answered 2 s ago",
        "zone: answered 1 s ago",
    )


def test_the_evidence_of_the_other_replicas_is_used_if_one_fails_and_all_failures_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert evidence_from(monkeypatch, Retry("answered 500"), ("edge: answered 2 s ago",)) == ("edge: answered 2 s ago",)
    with pytest.raises(Retry, match=r"operators:8091: answered 500; answered 401"):
        evidence_from(monkeypatch, Retry("answered 500"), Retry("answered 401"))


def test_a_replica_that_hangs_does_not_delay_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response([["edge: answered 2 s ago"]])

    async def case(silent: int, port: int) -> KnownEvidence:
        app = web.Application()
        app.router.add_post("/api/evidence", answer)
        site = Site("evidence", "")
        await site.open(app, f"127.0.0.1:{port}")
        try:
            return await RemoteEvidence(f"operators:{silent}").evidence_of("token", User("ann"), [WEB])
        finally:
            await site.close()

    monkeypatch.setattr(evidence, "TIMEOUT", 0.3)
    with Ports("127.0.0.1") as ports, socket.create_server(("127.0.0.1", 0)) as hangs:
        places = (hangs.getsockname()[1], ports.reserve())

        async def urls(_: RemoteEvidence) -> list[str]:
            return [f"http://127.0.0.1:{port}" for port in places]

        monkeypatch.setattr(RemoteEvidence, "_urls", urls)
        assert asyncio.run(case(*places)) == {WEB: ("edge: answered 2 s ago",)}


def test_a_name_without_addresses_is_an_error() -> None:
    with pytest.raises(Retry, match=r"no operator responds at absent.invalid:8091"):
        asyncio.run(RemoteEvidence("absent.invalid:8091").evidence_of("token", User("ann"), [WEB]))


@pytest.mark.parametrize("address", ["operators", ":8091", "operators:http"])
def test_an_invalid_address_is_an_error(address: str) -> None:
    with pytest.raises(UserError, match="write HOST:PORT"):
        RemoteEvidence(address)
