"""Conditions: declared, judged, stamped."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.api.meta import Condition
from seamark_runtime.conditions import (
    LONGEST_MESSAGE,
    NEVER,
    Awaited,
    ConditionMap,
    ConditionType,
    Stamp,
    flips,
    still_true,
)

LIT = ConditionType("Lit", meaning="It shines", reasons={"On": "x", "Off": "x", "Asking": "x", "Pending": "x"})
WARM = ConditionType("Warm", meaning="It is warm", reasons={"Hot": "x", "Cold": "x", "Asking": "x", "Pending": "x"})
READY = ConditionType("Ready", meaning="All is well", reasons={"Ready": "x", "Pending": "x"}, summary=True)
KNOWN = ConditionType("Known", meaning="It was seen", reasons={"On": "x", "Asking": "x", "NotVerified": "x"})
T1, T2 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"


def stamped(judged: Condition, *, generation: int = 1, time: str = T1) -> Condition:
    (one,) = Stamp(generation, time).on((judged,), ())
    return one


def restamped(judged: Condition, before: Condition, generation: int = 1, *, stands: bool = True) -> Condition:
    (one,) = Stamp(generation, T2, awaiting_stands=stands).on((judged,), (before,))
    return one


def test_an_undeclared_reason_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="Lit has no reason Exploded: declare it"):
        LIT.true("Exploded")


def test_a_condition_type_with_a_reason_that_no_api_server_takes_cant_be_declared() -> None:
    with pytest.raises(ValueError, match="not legal"):
        ConditionType("Lit", meaning="x", reasons={"Not on": "x"})


def test_a_message_longer_than_the_api_allows_is_cut_visibly() -> None:
    message = LIT.false("Off", "x" * 40_000).message
    assert len(message) == LONGEST_MESSAGE
    assert message.endswith("…")
    assert LIT.false("Off", "y" * LONGEST_MESSAGE).message == "y" * LONGEST_MESSAGE


def test_a_stamp_adds_the_generation_and_the_time() -> None:
    condition = stamped(LIT.true("On"), generation=7)
    assert (condition.observed_generation, condition.last_transition_time) == (7, T1)


def test_the_transition_time_moves_on_a_flip() -> None:
    assert restamped(LIT.false("Off", "x"), stamped(LIT.true("On"))).last_transition_time == T2


def test_the_transition_time_stays_while_reason_message_and_generation_change() -> None:
    after = restamped(LIT.false("Asking", "new words"), stamped(LIT.false("Off", "x")), generation=2)
    assert (after.last_transition_time, after.observed_generation, after.reason) == (T1, 2, "Asking")


def test_the_first_statement_of_a_crd_gives_way_to_a_real_time() -> None:
    default = Condition(type="Lit", status="Unknown", reason="Pending", message="", last_transition_time=NEVER)
    assert restamped(LIT.unknown("Off", "x"), default).last_transition_time == T2


def test_while_nobody_has_answered_what_was_said_of_this_generation_stands() -> None:
    before = stamped(LIT.true("On", "it shines"))
    stamp = Stamp(1, T2)
    assert stamp.on((LIT.not_yet("Asking", "?"),), (before,)) == (before,)
    assert stamp.kept == ["Lit"]


def test_what_was_said_of_an_older_generation_does_not_stand() -> None:
    after = restamped(LIT.not_yet("Asking", "?"), stamped(LIT.true("On"), generation=1), generation=2)
    assert (after.status, after.observed_generation, after.last_transition_time) == ("Unknown", 2, T2)
    assert type(after) is Condition


def test_nothing_unverified_stands_after_the_shelf_life() -> None:
    assert restamped(LIT.not_yet("Asking", "?"), stamped(LIT.true("On")), stands=False).status == "Unknown"


def test_an_older_unknown_gives_way_to_the_newer_words() -> None:
    after = restamped(LIT.not_yet("Asking", "?"), stamped(LIT.unknown("Off", "x")))
    assert (after.reason, after.last_transition_time) == ("Asking", T1)


def test_the_worst_part_speaks_for_all() -> None:
    true, unknown, false = LIT.true("On"), LIT.unknown("Off", "who knows"), WARM.false("Cold", "freezing")
    ready = READY.worst_of(true, unknown, false, otherwise=("Ready", "fine"))
    assert (ready.type, ready.status, ready.reason, ready.message) == ("Ready", "False", "Cold", "freezing")
    ready = READY.worst_of(true, unknown, otherwise=("Ready", "fine"))
    assert (ready.status, ready.reason) == ("Unknown", "Off")
    ready = READY.worst_of(true, otherwise=("Ready", "fine"))
    assert (ready.status, ready.reason, ready.message) == ("True", "Ready", "fine")


def test_of_two_equally_bad_parts_the_first_speaks() -> None:
    assert READY.worst_of(WARM.false("Cold", ""), LIT.false("Off", ""), otherwise=("Ready", "")).reason == "Cold"


def test_a_summary_of_what_is_awaited_is_awaited() -> None:
    ready = READY.worst_of(LIT.true("On"), WARM.not_yet("Asking", "?"), otherwise=("Ready", ""))
    assert isinstance(ready, Awaited)


def test_an_unknown_that_is_a_finding_outweighs_one_that_is_awaited() -> None:
    # Else Ready would stay True, as awaited, while it is known that a part is not.
    ready = READY.worst_of(WARM.not_yet("Asking", "?"), LIT.unknown("Off", "dark"), otherwise=("Ready", ""))
    after = restamped(ready, stamped(READY.true("Ready")))
    assert (after.status, after.reason) == ("Unknown", "Off")


def test_a_summary_of_words_that_stand_is_made_of_those_words() -> None:
    lit, warm = LIT.true("On"), WARM.not_yet("Asking", "?")
    ready = READY.worst_of(lit, warm, otherwise=("Ready", "fine"))
    before = (stamped(LIT.false("Off", "dark")), stamped(WARM.true("Hot")), stamped(READY.false("Pending", "dark")))
    after = Stamp(1, T2).on((lit, warm, ready), before)
    assert [(c.type, c.status, c.reason) for c in after] == [
        ("Lit", "True", "On"),
        ("Warm", "True", "Hot"),  # no response yet: it stands
        ("Ready", "True", "Ready"),  # and what was wrong is not any more
    ]
    assert all(type(c) is Condition for c in after)


def test_a_summary_of_nothing_but_standing_words_stands_itself() -> None:
    lit, warm = LIT.true("On"), WARM.not_yet("Asking", "?")
    before = (stamped(LIT.true("On")), stamped(WARM.true("Hot")), stamped(READY.true("Ready", "fine")))
    ready = READY.worst_of(lit, warm, otherwise=("Ready", "fine"))
    assert Stamp(1, T2).on((lit, warm, ready), before) == before
    after = Stamp(1, T2, awaiting_stands=False).on((lit, warm, ready), before)
    assert [c.status for c in after] == ["True", "Unknown", "Unknown"]


PARTS = st.sampled_from(
    [say for kind in (LIT, WARM) for say in (kind.unknown("Asking", "x"), kind.not_yet("Asking", "?"))]
    + [LIT.true("On"), LIT.false("Off", "dark"), WARM.true("Hot"), WARM.false("Cold", "x")]
)


@given(st.lists(st.tuples(PARTS, PARTS, st.booleans(), st.integers(0, 1)), min_size=1, max_size=8))
def test_through_any_history_the_summary_is_as_bad_as_the_worst_that_is_said(history: list[Any]) -> None:
    before: tuple[Condition, ...] = ()
    generation = 1
    for one, other, stands, step in history:
        if one.type == other.type:
            continue
        generation += step
        ready = READY.worst_of(one, other, otherwise=("Ready", "fine"))
        before = Stamp(generation, T2, awaiting_stands=stands).on((one, other, ready), before)
        statuses = [c.status for c in before[:2]]
        expected = next((s for s in ("False", "Unknown") if s in statuses), "True")
        assert before[2].status == expected


def test_flips_are_pairs_of_different_status_and_new_conditions_have_no_past() -> None:
    old: ConditionMap = {("", "Lit"): stamped(LIT.true("On")), ("", "Warm"): stamped(WARM.true("Hot"))}
    new: ConditionMap = {**old, ("", "Lit"): stamped(LIT.false("Off", "")), ("entry", "Lit"): stamped(LIT.true("On"))}
    assert flips(old, new) == [(old["", "Lit"], new["", "Lit"]), (None, new["entry", "Lit"])]


def test_what_was_true_and_is_so_no_more_for_the_same_generation_would_be_a_lie_meanwhile() -> None:
    true, false = stamped(LIT.true("On")), stamped(LIT.false("Off", ""))
    newer = stamped(LIT.unknown("Off", ""), generation=2)
    assert still_true({("", "Lit"): true}, {("", "Lit"): true})
    assert not still_true({("", "Lit"): true}, {("", "Lit"): false})
    assert not still_true({("", "Lit"): true}, {})
    assert still_true(
        {("", "Lit"): true}, {("", "Lit"): newer}
    )  # it is about an older generation, as its observedGeneration shows
    assert still_true({("", "Lit"): false}, {})


JUDGED = st.sampled_from(
    [
        LIT.true("On"),
        LIT.false("Off", "a"),
        LIT.false("Asking", "b"),
        LIT.unknown("Off", "c"),
        LIT.not_yet("Asking", "?"),
    ]
)


@given(st.lists(st.tuples(JUDGED, st.integers(0, 1), st.booleans()), min_size=1, max_size=12))
def test_through_any_history_times_move_with_flips_alone(history: list[tuple[Condition, int, bool]]) -> None:
    before: tuple[Condition, ...] = ()
    generation = 1
    for moment, (judged, step, stands) in enumerate(history):
        generation += step
        after = Stamp(generation, f"2026-01-01T00:00:{moment:02}Z", awaiting_stands=stands).on((judged,), before)
        (now,) = after
        assert now.observed_generation == generation
        assert now.last_transition_time
        assert type(now) is Condition
        if before:
            moved = now.last_transition_time != before[0].last_transition_time
            assert moved == (now.status != before[0].status)
        before = after


def test_a_stamped_condition_is_legal_on_the_wire() -> None:
    wire = msgspec.to_builtins(stamped(LIT.true("On")))
    assert wire == {
        "type": "Lit",
        "status": "True",
        "reason": "On",
        "message": "",
        "lastTransitionTime": T1,
        "observedGeneration": 1,
    }
    assert re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", wire["reason"])


# ---- those who know can't be asked


def test_what_cant_be_verified_says_since_when_and_why() -> None:
    condition = restamped(KNOWN.unverified("It was not seen", "refused"), stamped(KNOWN.true("On")), stands=False)
    assert (condition.status, condition.reason, condition.last_transition_time) == ("Unknown", "NotVerified", T2)
    assert condition.message == f"It was not seen since {T2}: refused"


def test_its_message_stays_whatever_the_error_of_a_retry() -> None:
    first = restamped(KNOWN.unverified("It was not seen", "refused"), stamped(KNOWN.true("On")), stands=False)
    for again in (KNOWN.unverified("It was not seen", "timeout"), KNOWN.unverified("It was not seen", at_once=True)):
        assert Stamp(1, "2026-01-01T00:00:09Z", awaiting_stands=False).on((again,), (first,)) == (first,)


def test_after_a_restart_it_stays_until_there_is_an_answer() -> None:
    first = restamped(KNOWN.unverified("It was not seen", "refused"), stamped(KNOWN.true("On")), stands=False)
    restarted = Stamp(1, "2026-01-01T00:00:09Z")
    assert restarted.on((KNOWN.not_yet("Asking", "?"),), (first,)) == (first,)
    assert restarted.on((KNOWN.true("On"),), (first,))[0].status == "True"


def test_after_a_restart_what_was_true_stays_for_its_shelf_life_unless_that_is_over() -> None:
    before = stamped(KNOWN.true("On"))
    assert restamped(KNOWN.unverified("It was not seen"), before) == before
    assert restamped(KNOWN.unverified("It was not seen", at_once=True), before).status == "Unknown"


def test_what_is_unknown_for_longer_says_the_longer_time() -> None:
    before = stamped(KNOWN.unknown("Asking", "?"))
    assert restamped(KNOWN.unverified("It was not seen"), before).message == f"It was not seen since {T1}"


def test_a_summary_has_the_message_of_what_it_sums_up() -> None:
    parts = (KNOWN.unverified("It was not seen", "refused", at_once=True), LIT.true("On"))
    summary = READY.worst_of(*parts, otherwise=("Ready", "All is well"))
    stamped = Stamp(1, T1).on((*parts, summary), ())
    assert stamped[2].message == stamped[0].message == f"It was not seen since {T1}: refused"
