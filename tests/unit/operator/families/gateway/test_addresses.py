"""Addresses: a holder keeps its address, a named one is assigned."""

from __future__ import annotations

from seamark.families.gateway.addresses.reconcile import assign
from seamark.families.gateway.addresses.state import AddressRequest, Pool
from seamark.families.gateway.model.addresses import AddressAssignment
from seamark_runtime.api.meta import Key

A, B, C = (Key("default", name) for name in "abc")


def request(key: Key, *named: str, held: tuple[str, ...] = ()) -> AddressRequest:
    return AddressRequest(key, named, 0 if named else 1, held)


def assigned(*requests: AddressRequest, ranges: tuple[str, ...] = ("192.0.2.0/30",)) -> dict[Key, AddressAssignment]:
    return dict(assign(Pool(ranges, requests)))


def reason(assignment: AddressAssignment) -> str:
    return assignment.problem[0] if assignment.problem is not None else ""


def test_each_gets_one_of_its_own() -> None:
    assert assigned(request(A), request(B)) == {
        A: AddressAssignment(("192.0.2.1",)),
        B: AddressAssignment(("192.0.2.2",)),
    }


def test_a_holder_keeps_its_address() -> None:
    assert assigned(request(A), request(B, held=("192.0.2.1",))) == {
        A: AddressAssignment(("192.0.2.2",)),
        B: AddressAssignment(("192.0.2.1",)),
    }


def test_a_named_address_is_assigned_and_to_no_other() -> None:
    assert assigned(request(A), request(B, "192.0.2.1")) == {
        A: AddressAssignment(("192.0.2.2",)),
        B: AddressAssignment(("192.0.2.1",)),
    }


def test_an_address_that_is_not_local_is_reported() -> None:
    assert reason(assigned(request(A, "203.0.113.1"))[A]) == "AddressNotUsable"


def test_when_no_address_is_left_the_last_gateway_reports_it() -> None:
    found = assigned(request(A), request(B), request(C))
    assert found[A].addresses
    assert found[B].addresses
    assert reason(found[C]) == "AddressNotAssigned"


def test_of_two_that_hold_the_same_one_the_older_keeps_it() -> None:
    found = assigned(request(A, held=("192.0.2.1",)), request(B, held=("192.0.2.1",)))
    assert found == {A: AddressAssignment(("192.0.2.1",)), B: AddressAssignment(("192.0.2.2",))}


def test_of_two_that_name_the_same_address_the_older_gets_it_and_the_other_reports_it() -> None:
    found = assigned(request(A, "192.0.2.1"), request(B, "192.0.2.1"))
    assert found[A] == AddressAssignment(("192.0.2.1",))
    message = "The address 192.0.2.1 is used by another Gateway; name another one, or none"
    assert found[B] == AddressAssignment(problem=("AddressNotUsable", message))


def test_a_holder_keeps_the_address_it_names_against_an_older_one_that_names_it_later() -> None:
    found = assigned(request(A, "192.0.2.1"), request(B, "192.0.2.1", held=("192.0.2.1",)))
    assert (reason(found[A]), found[B]) == ("AddressNotUsable", AddressAssignment(("192.0.2.1",)))


def test_the_address_of_another_cannot_be_named() -> None:
    found = assigned(request(A, "192.0.2.1"), request(B, held=("192.0.2.1",)))
    assert (reason(found[A]), found[B]) == ("AddressNotUsable", AddressAssignment(("192.0.2.1",)))


def test_other_spellings_of_an_address_are_the_same_address() -> None:
    ranges = ("192.0.2.0/30", "2001:db8::/126")
    for one, other in (("192.0.2.1", "::ffff:192.0.2.1"), ("2001:db8::1", "2001:0DB8:0::0001")):
        found = assigned(request(A, one), request(B, other), ranges=ranges)
        assert (found[A], reason(found[B])) == (AddressAssignment((one,)), "AddressNotUsable")
    assert assigned(request(A, "192.0.2.1", "::ffff:192.0.2.1"))[A] == AddressAssignment(("192.0.2.1",))
    for wrong in ("2001:db8::1%eth0", "192.0.2.01", "0xc0000201", "3221225985", "192.0.2.1 ", "*"):
        assert reason(assigned(request(A, wrong), ranges=ranges)[A]) == "AddressNotUsable"


def test_one_that_names_another_gateways_address_beside_a_free_one_gets_neither() -> None:
    found = assigned(request(A, "192.0.2.1"), request(B, "192.0.2.1", "192.0.2.2"), request(C, "192.0.2.2"))
    assert reason(found[B]) == "AddressNotUsable"
