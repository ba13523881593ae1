"""The first owner keeps a place, whatever another claims; nothing is remembered of deleted ones."""

from __future__ import annotations

from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.service.holders import Holders
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import ManagedMeta

PLACE = "tls://shop.example.com:443"


def service(uid: str, created: str = "2026-01-01T00:00:00Z") -> Service:
    return Service(metadata=ManagedMeta(name=uid, namespace="default", uid=uid, creation_timestamp=created))


def test_who_was_seen_first_keeps_it_from_an_older_one() -> None:
    holders, young, old = Holders(Options()), service("young"), service("old", "2025-01-01T00:00:00Z")
    assert holders.settle(PLACE, [young]) == "young"
    assert holders.settle(PLACE, [old, young]) == "young"


def test_with_nothing_seen_the_oldest_has_it() -> None:
    assert Holders(Options()).settle(PLACE, [service("b"), service("a", "2025-01-01T00:00:00Z")]) == "a"


def test_who_claims_it_no_more_makes_room() -> None:
    holders = Holders(Options())
    holders.settle(PLACE, [service("a")])
    holders.keep(service("a"), ())
    assert holders.settle(PLACE, [service("a"), service("b", "2025-01-01T00:00:00Z")]) == "b"


def test_who_moves_keeps_both_until_it_lets_one_go() -> None:
    holders, mover, thief = Holders(Options()), service("mover"), service("thief", "2025-01-01T00:00:00Z")
    for place in (PLACE, "tls://new.example.com:443"):
        assert holders.settle(place, [mover]) == "mover"
    assert holders.settle(PLACE, [mover, thief]) == "mover"
    holders.keep(mover, ("tls://new.example.com:443",))
    assert holders.settle(PLACE, [thief]) == "thief"
    assert holders.settle("tls://new.example.com:443", [mover, thief]) == "mover"


def test_nothing_is_left_of_those_who_are_gone() -> None:
    holders = Holders(Options())
    for number in range(100):
        holders.settle(f"tls://{number}.example.com:443", [service(str(number))])
        holders.keep(service(str(number)), ())
    assert len(holders) == 0


def test_nothing_is_left_of_a_service_that_is_forgotten() -> None:
    holders, shop = Holders(Options()), service("a")
    holders.settle(PLACE, [shop])
    holders.forget(shop.key)
    assert len(holders) == 0
    assert holders.settle(PLACE, [shop, service("b", "2025-01-01T00:00:00Z")]) == "b"
