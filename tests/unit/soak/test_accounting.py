"""A soak that could not find a loss, a leak or a lie would prove nothing."""

from __future__ import annotations

from tests.soak.accounting import Account, Doubts, slope


def test_who_is_said_to_be_ready_while_the_outside_says_otherwise_lies_once_past_the_shelf_life() -> None:
    doubts = Doubts()
    for second in range(40):
        doubts.look("a", second, 15.0, said=True, true=False)
    assert doubts.lies == ["a is said to be ready, and was not for 16 s"]


def test_a_doubt_ends_when_either_side_changes_its_mind() -> None:
    doubts = Doubts()
    for second in range(60):
        doubts.look("corrected", second, 15.0, said=second % 10 != 9, true=False)
        doubts.look("restored", second, 15.0, said=True, true=second % 10 == 9)
    assert doubts.lies == []


def test_a_lie_that_ended_and_comes_back_is_another_one() -> None:
    doubts = Doubts()
    for second in range(60):
        doubts.look("a", second, 15.0, said=True, true=second == 30)
    assert len(doubts.lies) == 2


def test_nobody_is_blamed_for_a_time_in_which_nothing_could_be_said() -> None:
    doubts = Doubts()
    doubts.look("a", 0, 15.0, said=True, true=False)
    doubts.begin_anew()
    doubts.look("a", 20, 15.0, said=True, true=False)
    assert doubts.lies == []


def test_an_object_that_is_gone_is_doubted_no_more() -> None:
    doubts = Doubts()
    doubts.look("a", 0, 15.0, said=True, true=False)
    doubts.forget("a")
    doubts.look("a", 20, 15.0, said=True, true=False)
    assert doubts.lies == []


def test_the_last_line_has_every_number_and_each_finding_has_a_line() -> None:
    rss = [(float(second), 100 + second / 3600) for second in range(0, 600, 5)]
    account = Account(10, ["one"], ["two", "three"], ["four"], rss, ["patch x"])
    assert account.line() == "soak: minutes=10 lost=1 leaked=2 lies=1 rss_slope_mb_per_h=1.0 idle_writes=1"
    assert account.words() == ["lost: one", "leaked: two", "leaked: three", "lie: four", "written at rest: patch x"]
    assert not account.good
    assert Account(10, rss=rss).good


def test_what_a_start_takes_and_a_moment_of_much_work_are_no_trend() -> None:
    rising = [(float(second), 50.0 + min(second, 60)) for second in range(0, 600, 5)]
    peak = [(float(second), 110.0 if 400 < second < 430 else 100.0) for second in range(0, 600, 5)]
    assert slope(rising) == 0.0
    assert slope(peak) == 0.0
    assert slope([(float(second), second / 36) for second in range(600)]) > 99
    assert slope([]) == 0.0
