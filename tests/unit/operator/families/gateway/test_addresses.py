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


OWN = [Key("greedy", f"g{number}") for number in range(4)]


def shared(*requests: AddressRequest, share: int = 2) -> dict[Key, AddressAssignment]:
    return dict(assign(Pool(("192.0.2.0/29",), requests, share)))


def test_a_namespace_has_a_share_and_leaves_the_rest_to_others() -> None:
    found = shared(*(request(key) for key in OWN), request(A))
    assert [reason(found[key]) for key in OWN] == ["", "", "AddressNotAssigned", "AddressNotAssigned"]
    assert "may have 2 addresses" in str(found[OWN[2]].problem)
    assert found[A].addresses


def test_one_gateway_that_asks_for_more_than_the_share_gets_none() -> None:
    found = shared(AddressRequest(OWN[0], (), 3, ()), request(A))
    assert (reason(found[OWN[0]]), found[A].addresses) == ("AddressNotAssigned", ("192.0.2.1",))


def test_beyond_the_share_a_gateway_keeps_no_address_from_others_by_naming_it() -> None:
    found = shared(request(OWN[0]), request(OWN[1]), request(OWN[2], "192.0.2.5"), request(A, "192.0.2.5"))
    assert (reason(found[OWN[2]]), found[A].addresses) == ("AddressNotAssigned", ("192.0.2.5",))


def test_what_is_held_stays_whatever_the_share_is() -> None:
    held = [request(key, held=(f"192.0.2.{number}",)) for number, key in enumerate(OWN[:3], 1)]
    found = shared(*held, request(OWN[3]), share=1)
    assert [found[key].addresses for key in OWN[:3]] == [("192.0.2.1",), ("192.0.2.2",), ("192.0.2.3",)]
    assert reason(found[OWN[3]]) == "AddressNotAssigned"


def test_without_a_share_there_is_no_limit() -> None:
    assert not any(reason(found) for found in shared(*(request(key) for key in OWN), share=0).values())
