"""What is to be done when a database answers again: pure, from what was known before and what it has now."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from seamark_edge.store.record import Contents, Key, Record, Row, Write


@dataclass(frozen=True, slots=True)
class Known:
    """What a store knew when its database went away.

    - `stored`: the rows as the database last answered; `last`: the greatest version among all its answers.
    - `owed`: what is in effect here and not written (None: removed).
    - `doubtful`: changes that were sent, and refused to their callers because no answer came.
    """

    stored: Mapping[Key, Row]
    last: int
    owed: Mapping[Key, Record | None]
    doubtful: Set[Key]


@dataclass(slots=True)
class Plan:
    """`writes` make the database have what is in use here; `adopted` and `forgotten` is what others changed there."""

    restored: bool  # it was replaced by an older copy of itself
    writes: list[Write] = field(default_factory=list)
    adopted: list[Row] = field(default_factory=list)
    forgotten: list[Key] = field(default_factory=list)


def plan(known: Known, contents: Contents) -> Plan:
    """
    - What is in use here and owed, or was stored and is missing in an older copy, is written.
    - What came about there after everything that is known here was done by another edge: it is adopted, even where
      something is owed.
    - What was removed here does not return with an older copy. A change that was answered with an error is undone.
    """
    there = {row.record.key: row for row in contents.rows}
    made = Plan(restored=contents.last < known.last)
    for key in {**known.stored, **known.owed, **there, **dict.fromkeys(known.doubtful)}:
        row = there.get(key)
        foreign = row is not None and row.version > known.last and key not in known.doubtful
        if row is not None and foreign:
            made.adopted.append(row)
            continue
        before = known.stored.get(key)
        wanted = known.owed.get(key, before.record if before else None)
        same_row = row is not None and before is not None and row.version == before.version
        if same_row and key not in known.owed:
            continue
        removed_there = row is None and before is not None and not made.restored and key not in known.doubtful
        if removed_there and key not in known.owed:
            made.forgotten.append(key)
        elif wanted is not None or row is not None:
            made.writes.append(Write(key, wanted, row.version if row else None))
    # Names are unique: what gives one up goes first.
    made.writes.sort(key=lambda write: write.record is not None)
    return made
