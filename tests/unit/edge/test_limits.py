"""Budgets, ids and proofs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from seamark_edge.edge.credentials import Budget
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.ids import new_id
from seamark_edge.edge.places import Places
from seamark_edge.edge.registry import Registry
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.urls import parse_url
from seamark_edge.store.opening import open_file


def test_a_budget_refills_over_a_minute_and_says_when_to_come_again() -> None:
    budget = Budget(60)
    for _ in range(60):
        budget.spend("a", now=100.0)
    with pytest.raises(Refusal) as caught:
        budget.spend("a", now=100.5)
    assert caught.value.after == pytest.approx(0.5)
    budget.spend("a", now=101.0)
    budget.spend("b", now=100.0)


def test_later_ids_are_greater() -> None:
    ids = [new_id("ra") for _ in range(1000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 1000


def test_replicas_of_one_name_meet_at_the_place_of_the_first_also_after_a_restart(tmp_path: Path) -> None:
    settings = EdgeSettings(state=str(tmp_path), lease_seconds=600)
    url = parse_url("tcp://127.0.0.1:20001")

    async def case() -> None:
        store = open_file(tmp_path / "s.db")
        places = Places(settings, store, Registry())
        assert places.meeting("web", "tcp", "cr_1") == ""
        places.meet("web", url, "cr_1")
        await places.lease(url, "cr_1", "web")
        for again in (places, Places(settings, store, Registry())):
            assert again.meeting("web", "tcp", "cr_1") == url.key
            assert again.meeting("web", "tcp", "cr_2") == ""  # of another token
            assert again.meeting("web", "http", "cr_1") == ""
            assert again.meeting("", "tcp", "cr_1") == ""
        await store.close()

    asyncio.run(case())


def test_a_place_that_nobody_keeps_is_no_meeting_any_more(tmp_path: Path) -> None:
    url = parse_url("tcp://127.0.0.1:20001")

    async def case() -> None:
        store = open_file(tmp_path / "s.db")
        places = Places(EdgeSettings(state=str(tmp_path), lease_seconds=0), store, Registry())
        places.meet("web", url, "cr_1")
        await places.lease(url, "cr_1", "web")
        await places.unlease(url)
        assert places.meeting("web", "tcp", "cr_1") == ""
        await places.sweep()
        assert store.get("lease", url.key) is None
        await store.close()

    asyncio.run(case())


def test_a_bind_token_is_good_for_its_place_and_credential_only(tmp_path: Path) -> None:
    store = open_file(tmp_path / "s.db")
    places = Places(EdgeSettings(state=str(tmp_path)), store, Registry())
    url = parse_url("tcp://127.0.0.1:20001")
    token = places.token(url, "cr_1")
    assert places.url_of(token, "cr_1") == url.key
    assert places.url_of(token, "cr_2") == ""
    for forged in (token[:-4] + "AAAA", "x", "", "é", "A" * 400):
        assert places.url_of(forged, "cr_1") == ""
    again = Places(EdgeSettings(state=str(tmp_path)), store, Registry())
    assert again.url_of(token, "cr_1") == url.key
    asyncio.run(store.close())
