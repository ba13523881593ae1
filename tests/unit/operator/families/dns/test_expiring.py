"""Answers that expire: when, in which order, and how many are kept (rule 40)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seamark.families.dns.model.expiring import Expiring, Pauses

PAUSES = Pauses(first=1.0, most=30.0, keeps=300.0)


def answers(most: int = 100) -> Expiring[str, str | None]:
    return Expiring(most, PAUSES)


def test_a_refusal_expires_after_pauses_that_double_up_to_the_longest() -> None:
    known, now, pauses = answers(), 0.0, []
    for _ in range(8):
        known.put("a", None, now, refused=True)
        pauses.append(known.next - now)
        now = known.next
        known.expire(now)
        assert list(known.expired) == ["a"]
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]


def test_an_expired_answer_counts_until_the_next_one() -> None:
    known = answers()
    known.put("a", "as it is", 0.0, refused=False)
    known.expire(299.0)
    assert not known.expired
    known.expire(300.0)
    assert known["a"] == "as it is"
    assert list(known.expired) == ["a"]
    known.put("a", "otherwise", 301.0, refused=False)
    assert dict(known) == {"a": "otherwise"}
    assert not known.expired


def test_an_acceptance_ends_the_row_of_refusals() -> None:
    known = answers()
    for refused in (True, True, True, False, True):
        known.put("a", None, 0.0, refused=refused)
    known.expire(1.0)
    assert list(known.expired) == ["a"]


def test_what_was_replaced_or_forgotten_does_not_expire_by_its_earlier_time() -> None:
    known = answers()
    known.put("a", None, 0.0, refused=True)
    known.put("a", "taken", 0.5, refused=False)
    known.put("b", None, 0.5, refused=True)
    known.forget("b")
    known.expire(10.0)
    assert not known.expired
    assert "b" not in known


def test_the_oldest_answers_go_when_there_are_too_many() -> None:
    known = answers(2)
    for key in "abac":
        known.put(key, key, 0.0, refused=False)
    assert list(known) == ["a", "c"]


def test_refusals_alone_are_tried_again_when_one_was_accepted() -> None:
    known = answers()
    known.put("a", None, 0.0, refused=True)
    known.put("b", "taken", 0.0, refused=False)
    known.expire_refusals()
    assert list(known.expired) == ["a"]


@given(st.integers(2, 300), st.floats(1.0, 10.0))
def test_many_refusals_are_spread_and_none_expires_later_than_the_share_allows(count: int, share: float) -> None:
    known: Expiring[int, None] = Expiring(1000, Pauses(first=60.0, most=60.0))
    for key in range(count):
        known.put(key, None, 0.0, refused=True, share=share)
    known.expire(59.9)
    assert not known.expired
    known.expire(60.0 * (2 * share - 1))
    assert len(known.expired) == count
    assert known.next == float("inf")
