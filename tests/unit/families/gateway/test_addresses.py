"""Addresses: who has one keeps it, who names one gets it."""

from __future__ import annotations

from seamark.families.gateway.addresses import Lot, Pool, Wish, assign
from seamark_runtime.api.meta import Key

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


def test_of_two_that_name_the_same_one_the_older_gets_it_and_the_other_is_told() -> None:
    found = lots(wish(A, "192.0.2.1"), wish(B, "192.0.2.1"))
    assert found[A] == Lot(("192.0.2.1",))
    words = "The address 192.0.2.1 is used by another Gateway; name another one, or none"
    assert found[B] == Lot(trouble=("AddressNotUsable", words))


def test_who_has_the_one_it_names_keeps_it_against_an_older_one_that_names_it_later() -> None:
    found = lots(wish(A, "192.0.2.1"), wish(B, "192.0.2.1", held=("192.0.2.1",)))
    assert (reason(found[A]), found[B]) == ("AddressNotUsable", Lot(("192.0.2.1",)))


def test_nobody_can_name_the_one_that_another_was_given() -> None:
    found = lots(wish(A, "192.0.2.1"), wish(B, held=("192.0.2.1",)))
    assert (reason(found[A]), found[B]) == ("AddressNotUsable", Lot(("192.0.2.1",)))


def test_other_spellings_of_an_address_are_the_same_address() -> None:
    ranges = ("192.0.2.0/30", "2001:db8::/126")
    for one, other in (("192.0.2.1", "::ffff:192.0.2.1"), ("2001:db8::1", "2001:0DB8:0::0001")):
        found = lots(wish(A, one), wish(B, other), ranges=ranges)
        assert (found[A], reason(found[B])) == (Lot((one,)), "AddressNotUsable")
    assert lots(wish(A, "192.0.2.1", "::ffff:192.0.2.1"))[A] == Lot(("192.0.2.1",))
    for wrong in ("2001:db8::1%eth0", "192.0.2.01", "0xc0000201", "3221225985", "192.0.2.1 ", "*"):
        assert reason(lots(wish(A, wrong), ranges=ranges)[A]) == "AddressNotUsable"


def test_one_that_names_another_gateways_address_beside_a_free_one_gets_neither() -> None:
    found = lots(wish(A, "192.0.2.1"), wish(B, "192.0.2.1", "192.0.2.2"), wish(C, "192.0.2.2"))
    assert reason(found[B]) == "AddressNotUsable"
