"""What is written, adopted and forgotten when a database answers again."""

from __future__ import annotations

from seamark_edge.store.record import Contents, Key, Record, Row, Write
from seamark_edge.store.recovery import Known, Plan, plan

OLD, NEW = Record("thing", "1", {"n": 1}, "then"), Record("thing", "1", {"n": 2}, "then")
KEY = OLD.key


def planned(
    stored: Row | None = None,
    there: Row | None = None,
    *,
    owed: tuple[Record | None, ...] = (),
    doubtful: bool = False,
    last: tuple[int, int] = (10, 10),
) -> Plan:
    """`last`: the greatest version that is known here, and that the database has given."""
    known = Known(
        {KEY: stored} if stored else {},
        last[0],
        dict.fromkeys([KEY] * len(owed), owed[0] if owed else None),
        {KEY} if doubtful else set(),
    )
    return plan(known, Contents([there] if there else [], {}, last[1]))


def test_nothing_is_written_where_both_sides_are_alike() -> None:
    assert planned(Row(OLD, 5), Row(OLD, 5)) == Plan(restored=False)


def test_what_is_owed_is_written_over_the_row_that_is_there() -> None:
    assert planned(Row(OLD, 5), Row(OLD, 5), owed=(NEW,)).writes == [Write(KEY, NEW, 5)]
    assert planned(Row(OLD, 5), None, owed=(NEW,)).writes == [Write(KEY, NEW, None)]
    assert planned(None, None, owed=(NEW,)).writes == [Write(KEY, NEW, None)]


def test_what_another_edge_has_changed_is_adopted_even_where_something_is_owed() -> None:
    theirs = Row(OLD, 11)
    for made in (planned(None, theirs), planned(Row(OLD, 5), theirs), planned(Row(OLD, 5), theirs, owed=(NEW,))):
        assert (made.writes, made.adopted) == ([], [theirs])


def test_what_another_edge_has_removed_is_forgotten_unless_it_is_in_use() -> None:
    made = planned(Row(OLD, 5), None)
    assert (made.writes, made.forgotten) == ([], [KEY])
    assert planned(Row(OLD, 5), None, owed=(NEW,)).forgotten == []


def test_an_older_copy_gets_back_what_it_lacks_and_loses_what_was_removed() -> None:
    older = (10, 4)
    assert planned(Row(OLD, 5), None, last=older).writes == [Write(KEY, OLD, None)]
    assert planned(Row(NEW, 5), Row(OLD, 3), last=older).writes == [Write(KEY, NEW, 3)]
    assert planned(None, Row(OLD, 3), last=older).writes == [Write(KEY, None, 3)]
    assert planned(Row(OLD, 3), Row(OLD, 3), last=older) == Plan(restored=True)


def test_a_change_whose_caller_was_told_that_it_failed_is_undone() -> None:
    assert planned(None, Row(NEW, 11), doubtful=True).writes == [Write(KEY, None, 11)]
    assert planned(Row(OLD, 5), Row(NEW, 11), doubtful=True).writes == [Write(KEY, OLD, 11)]
    assert planned(Row(OLD, 5), None, doubtful=True).writes == [Write(KEY, OLD, None)]
    assert planned(Row(OLD, 5), Row(OLD, 5), doubtful=True).writes == []
    assert planned(None, None, doubtful=True) == Plan(restored=False)


def test_what_gives_a_name_up_is_written_first() -> None:
    one, two = Record("thing", "1", {}, "then", "name"), Record("thing", "2", {}, "then", "name")
    known = Known({two.key: Row(two, 5)}, 10, {}, set())
    made = plan(known, Contents([Row(one, 3)], {}, 3))
    assert [write.key for write in made.writes] == [Key("thing", "1"), Key("thing", "2")]
