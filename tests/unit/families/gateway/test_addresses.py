"""Addresses: who has one keeps it, who names one gets it."""

from __future__ import annotations

from seamark.api.meta import Key
from seamark.families.gateway.addresses import Lot, Pool, Wish, assign

A, B, C = (Key("default", name) for name in "abc")


def wish(key: Key, *static: str, held: tuple[str, ...] = ()) -> Wish:
    return Wish(key, static, 0 if static else 1, held)


def lots(*wishes: Wish, ranges: tuple[str, ...] = ("192.0.2.0/30",)) -> dict[object, Lot]:
    return dict(assign(Pool(ranges, wishes)))


def reason(lot: Lot) -> str:
    return lot.trouble[0] if lot.trouble is not None else ""


def test_each_gets_one_of_its_own() -> None:
    assert lots(wish(A), wish(B)) == {A: Lot(("192.0.2.1",)), B: Lot(("192.0.2.2",))}


def test_who_has_one_keeps_it() -> None:
    assert lots(wish(A), wish(B, held=("192.0.2.1",))) == {A: Lot(("192.0.2.2",)), B: Lot(("192.0.2.1",))}


def test_who_names_one_gets_it_and_nobody_else_does() -> None:
    assert lots(wish(A), wish(B, "192.0.2.1")) == {A: Lot(("192.0.2.2",)), B: Lot(("192.0.2.1",))}


def test_one_that_is_not_local_is_told() -> None:
    assert reason(lots(wish(A, "203.0.113.1"))[A]) == "AddressNotUsable"


def test_when_none_is_left_the_last_is_told() -> None:
    found = lots(wish(A), wish(B), wish(C))
    assert found[A].addresses
    assert found[B].addresses
    assert reason(found[C]) == "AddressNotAssigned"


def test_of_two_that_hold_the_same_one_the_older_keeps_it() -> None:
    found = lots(wish(A, held=("192.0.2.1",)), wish(B, held=("192.0.2.1",)))
    assert found == {A: Lot(("192.0.2.1",)), B: Lot(("192.0.2.2",))}
