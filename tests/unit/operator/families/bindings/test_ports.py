"""Ports of the forwarders: one to each target, and none that may still be served."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seamark.families.bindings.poll.ports import Ports


def test_a_target_keeps_the_port_of_its_object() -> None:
    assert Ports(10, 20).assign(["a"], {"a": 15}, {15: "a"}, 0.0).assigned == {"a": 15}


def test_new_ones_come_after_those_in_use() -> None:
    assert Ports(10, 20).assign(["a", "b", "c"], {"a": 15}, {15: "a"}, 0.0).assigned == {"a": 15, "b": 16, "c": 17}


def test_what_was_given_is_remembered_until_the_object_shows_it() -> None:
    first = Ports(10, 20).assign(["a", "b"], {}, {}, 0.0)
    assert first.assign(["a", "b"], {}, {}, 1.0).assigned == first.assigned


def test_a_port_that_somebody_took_by_hand_is_left_to_the_older() -> None:
    found = Ports(10, 20).assign(["a"], {"a": 12, "older": 12}, {12: "older"}, 0.0).assigned
    assert found["a"] not in (None, 12)


def test_a_port_rests_after_its_object_is_gone_and_then_comes_again() -> None:
    first = Ports(10, 11, rest=60).assign(["a"], {"a": 10}, {10: "a"}, 0.0)
    assert first.assigned == {"a": 10}
    second = first.assign(["b", "c"], {}, {}, 1.0)
    assert second.assigned == {"b": 11, "c": None}
    assert second.assign(["b", "c"], {"b": 11}, {11: "b"}, 62.0).assigned == {"b": 11, "c": 10}


def test_a_port_outside_of_the_range_is_given_up() -> None:
    assert Ports(10, 20).assign(["a"], {"a": 5}, {5: "a"}, 0.0).assigned == {"a": 10}


@given(st.lists(st.sets(st.sampled_from("abcdefgh")), max_size=12), st.integers(1, 10))
def test_no_port_is_given_twice_or_while_it_may_be_served(rounds: list[set[str]], size: int) -> None:
    ports = Ports(100, 99 + size, rest=60)
    held: dict[str, int] = {}
    freed: dict[int, float] = {}
    for number, wanted in enumerate(rounds):
        now = 40.0 * number
        for name in [name for name in held if name not in wanted]:
            freed[held.pop(name)] = now
        busy = {port: name for name, port in held.items()}
        ports = ports.assign(sorted(wanted), held, busy, now)
        assert ports.assign(sorted(wanted), held, busy, now) == ports  # the same facts change nothing
        found = ports.assigned
        given_now = [port for port in found.values() if port is not None]
        assert len(set(given_now)) == len(given_now)
        for name, port in found.items():
            assert port is None or name in held or now - freed.get(port, -1000.0) >= 20
            if name in held:
                assert port == held[name]
        held = {name: port for name, port in found.items() if port is not None}
