"""What is unclaimed, and for how long."""

from __future__ import annotations

from seamark_runtime.sweep import due, looked, next_due


def test_an_owner_is_due_when_it_was_gone_for_the_whole_grace_period() -> None:
    first = looked(None, ("a", "b"), lambda owner: owner == "a", 100.0)
    assert first == {"b": 100.0}
    second = looked(first, ("a", "b"), lambda owner: owner == "a", 150.0)
    assert due(second, 60.0, 159.0) == ()
    assert next_due(second, 60.0, 159.0) == 160.0
    assert due(second, 60.0, 160.0) == ("b",)
    assert next_due(second, 60.0, 160.0) == float("inf")


def test_an_owner_that_exists_again_or_is_not_listed_starts_anew() -> None:
    first = looked(None, ("a", "b"), lambda _owner: False, 100.0)
    assert looked(first, ("a",), lambda _owner: False, 110.0) == {"a": 100.0}
    back = looked(first, ("a", "b"), lambda _owner: True, 110.0)
    assert looked(back, ("a", "b"), lambda _owner: False, 120.0) == {"a": 120.0, "b": 120.0}


def test_a_look_changes_nothing_of_the_one_before() -> None:
    first = looked(None, ("a",), lambda _owner: False, 100.0)
    looked(first, (), lambda _owner: False, 110.0)
    assert first == {"a": 100.0}
    assert due(None, 1.0, 9.0) == ()
