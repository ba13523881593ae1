"""The first keeps a place, whatever another says of itself; and nothing is remembered of whoever is gone."""

from __future__ import annotations

from seamark.families.loadbalancer.service.holders import Holders
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import ManagedMeta

PLACE = "tls://shop.example.com:443"


def service(uid: str, created: str = "2026-01-01T00:00:00Z") -> Service:
    return Service(metadata=ManagedMeta(name=uid, namespace="default", uid=uid, creation_timestamp=created))


def rank(one: Service) -> tuple[bool, str, str]:
    return False, one.metadata.creation_timestamp or "", one.uid


def test_who_was_seen_first_keeps_it_from_an_older_one() -> None:
    holders, young, old = Holders(), service("young"), service("old", "2025-01-01T00:00:00Z")
    assert holders.first(PLACE, [young], rank) == "young"
    assert holders.first(PLACE, [old, young], rank) == "young"


def test_with_nothing_seen_the_oldest_has_it() -> None:
    assert Holders().first(PLACE, [service("b"), service("a", "2025-01-01T00:00:00Z")], rank) == "a"


def test_who_claims_it_no_more_makes_room() -> None:
    holders = Holders()
    holders.first(PLACE, [service("a")], rank)
    holders.keep("a", ())
    assert holders.first(PLACE, [service("a"), service("b", "2025-01-01T00:00:00Z")], rank) == "b"


def test_who_moves_keeps_both_until_it_lets_one_go() -> None:
    holders, mover, thief = Holders(), service("mover"), service("thief", "2025-01-01T00:00:00Z")
    for place in (PLACE, "tls://new.example.com:443"):
        assert holders.first(place, [mover], rank) == "mover"
    assert holders.first(PLACE, [mover, thief], rank) == "mover"
    holders.keep("mover", ("tls://new.example.com:443",))
    assert holders.first(PLACE, [thief], rank) == "thief"
    assert holders.first("tls://new.example.com:443", [mover, thief], rank) == "mover"


def test_nothing_is_left_of_those_who_are_gone() -> None:
    holders = Holders()
    for number in range(100):
        holders.first(f"tls://{number}.example.com:443", [service(str(number))], rank)
        holders.keep(str(number), ())
    assert len(holders) == 0
