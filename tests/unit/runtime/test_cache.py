"""The cache and its indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Cache, Change, Index, Since
from seamark_runtime.journal import MOST
from tests.unit.runtime.scripted import Lamp, lamp


def colors(obj: Lamp) -> Iterable[str]:
    return obj.spec.steps


BY_COLOR = Index(Lamp, colors, "lamps by color")


def test_what_was_put_last_is_what_is_read() -> None:
    cache = Cache[Lamp]()
    first, second = lamp("a", version=1), lamp("a", version=2)
    assert cache.put(first) == Change(Key("ns", "a"), None, first)
    assert cache.put(second) == Change(Key("ns", "a"), first, second)
    assert cache.get(Key("ns", "a")) is second
    assert len(cache) == 1


def test_removing_what_is_not_there_changes_nothing() -> None:
    cache = Cache((BY_COLOR,))
    assert cache.remove(Key("ns", "a")) == Change(Key("ns", "a"), None, None)


def test_an_index_answers_sorted_by_key_whatever_the_order_of_arrival() -> None:
    cache = Cache((BY_COLOR,))
    for name in "cab":
        cache.put(lamp(name, steps=("red",)))
    assert [obj.metadata.name for obj in cache.by(BY_COLOR, "red")] == ["a", "b", "c"]
    assert cache.by(BY_COLOR, "green") == ()


def test_a_restart_keeps_serving_and_then_drops_what_did_not_come_again() -> None:
    cache = Cache((BY_COLOR,))
    for name in "abc":
        cache.put(lamp(name, steps=("red",)))
    cache.restart()
    cache.put(lamp("b", version=9, steps=("green",)))
    cache.put(lamp("d", version=9))
    assert cache.get(Key("ns", "a")) is not None
    assert [change.key.name for change in cache.confirm()] == ["a", "c"]
    assert sorted(obj.metadata.name for obj in cache) == ["b", "d"]
    assert cache.by(BY_COLOR, "red") == ()
    assert cache.confirm() == []


def test_what_was_removed_during_a_restart_is_not_removed_twice() -> None:
    cache = Cache[Lamp]()
    cache.put(lamp("a"))
    cache.restart()
    cache.remove(Key("ns", "a"))
    assert cache.confirm() == []


def test_a_restart_that_is_itself_restarted_forgets_nothing() -> None:
    cache = Cache[Lamp]()
    cache.put(lamp("a"))
    cache.restart()
    cache.put(lamp("b"))
    cache.restart()
    cache.put(lamp("a", version=2))
    assert [change.key.name for change in cache.confirm()] == ["b"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), st.lists(st.sampled_from("rgb"), max_size=3)),
        st.tuples(st.just("remove"), st.sampled_from("abc")),
        st.tuples(st.just("restart")),
        st.tuples(st.just("confirm")),
    ),
    max_size=40,
)


@given(STEPS)
def test_after_any_history_an_index_says_what_a_walk_over_all_objects_says(steps: list[Any]) -> None:
    cache = Cache((BY_COLOR,))
    for step in steps:
        match step:
            case ("put", name, values):
                cache.put(lamp(name, steps=tuple(values)))
            case ("remove", name):
                cache.remove(Key("ns", name))
            case ("restart",):
                cache.restart()
            case ("confirm",):
                cache.confirm()
        for color in "rgb":
            walked = sorted((obj for obj in cache if color in obj.spec.steps), key=lambda obj: obj.key)
            assert list(cache.by(BY_COLOR, color)) == walked


BY_COLOR_JOURNALLED = Index(Lamp, colors, "lamps by color, with a journal", journalled=True)


def told(since: Since[Lamp]) -> dict[str, bool]:
    """Which objects were named, and whether they are in the answer."""
    return {key.name: obj is not None for key, obj in since.changed.items()}


def test_what_has_changed_in_an_answer_is_told_at_the_cost_of_the_change() -> None:
    cache = Cache((BY_COLOR_JOURNALLED,))
    for name in "abc":
        cache.put(lamp(name, steps=("red",)))
    first = cache.since(BY_COLOR_JOURNALLED, "red", 0)
    assert (told(first), first.whole) == ({"a": True, "b": True, "c": True}, True)
    cache.put(lamp("b", version=2, steps=("red", "green")))
    cache.put(lamp("c", version=2, steps=("green",)))
    cache.put(lamp("d", version=2, steps=("blue",)))
    cache.remove(Key("ns", "a"))
    second = cache.since(BY_COLOR_JOURNALLED, "red", first.mark)
    assert (told(second), second.whole) == ({"b": True, "c": False, "a": False}, False)
    assert cache.since(BY_COLOR_JOURNALLED, "red", second.mark).changed == {}


def test_who_asks_too_late_is_told_everything() -> None:
    cache = Cache((BY_COLOR_JOURNALLED,))
    cache.put(lamp("a", steps=("red",)))
    mark = cache.since(BY_COLOR_JOURNALLED, "red", 0).mark
    for number in range(MOST + 1):
        cache.put(lamp(f"b{number}", steps=("red",)))
    late = cache.since(BY_COLOR_JOURNALLED, "red", mark)
    assert late.whole
    assert len(late.changed) == MOST + 2
