"""Names that stay their holder's for a while after they were released."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.holds import NEVER, Holds


def test_a_released_name_is_its_holders_until_the_hold_ends() -> None:
    holds = Holds(600.0)
    assert holds.release("www", "team-b", 100.0) is None
    assert (holds.holder("www"), holds.next_end) == ("team-b", 700.0)
    assert holds.expired(699.9) == []
    assert holds.holder("www") == "team-b"
    assert holds.expired(700.0) == ["www"]
    assert (holds.holder("www"), holds.next_end, len(holds)) == (None, NEVER, 0)


def test_a_name_that_is_claimed_again_has_no_hold() -> None:
    holds = Holds(600.0)
    holds.release("www", "team-b", 0.0)
    holds.claim("www")
    assert (holds.holder("www"), holds.expired(1000.0)) == (None, [])


def test_a_name_that_is_released_again_is_held_for_the_whole_time() -> None:
    holds = Holds(600.0)
    holds.release("www", "team-b", 0.0)
    holds.release("api", "team-b", 10.0)
    holds.release("www", "team-b", 300.0)
    assert holds.expired(610.0) == ["api"]
    assert holds.expired(900.0) == ["www"]


def test_who_releases_too_many_names_gives_up_their_own_oldest_hold_and_nobody_elses() -> None:
    holds = Holds(600.0, most=2)
    holds.release("www", "team-b", 0.0)
    assert [holds.release(f"n{number}", "team-a", 1.0) for number in range(4)] == [None, None, "n0", "n1"]
    assert holds.holder("www") == "team-b"
    assert list(holds) == ["www", "n2", "n3"]


def test_without_a_time_nothing_is_held() -> None:
    holds = Holds(0.0)
    assert holds.release("www", "team-b", 0.0) == "www"
    assert holds.holder("www") is None


STEP = st.tuples(
    st.sampled_from(["release", "claim", "expired"]),
    st.sampled_from("vwxyz"),
    st.sampled_from("abc"),
    st.integers(0, 4),
)


@given(st.lists(STEP, max_size=40))
def test_whatever_happens_memory_is_bounded_and_holds_end_in_their_order(
    steps: list[tuple[str, str, str, int]],
) -> None:
    holds, model, now = Holds(5.0, most=2), dict[str, tuple[str, float]](), 0.0
    for step, name, holder, later in steps:
        now += later
        if step == "release":
            model.pop(name, None)
            model[name] = (holder, now + 5.0)
            if (given_up := holds.release(name, holder, now)) is not None:
                assert model.pop(given_up)[0] == holder
        elif step == "claim":
            holds.claim(name)
            model.pop(name, None)
        else:
            ended = [one for one, (_, until) in model.items() if until <= now]
            assert holds.expired(now) == ended
            model = {one: hold for one, hold in model.items() if one not in ended}
        assert {one: holds.holder(one) for one in holds} == {one: who for one, (who, _) in model.items()}
        assert all(sum(who == one for who, _ in model.values()) <= 2 for one in "abc")
        assert holds.next_end == min((until for _, until in model.values()), default=NEVER)
