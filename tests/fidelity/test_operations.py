"""Every operation of every kind, in every relevant situation, on both sides."""

from __future__ import annotations

import os

import pytest

from tests.fidelity.arena import Arena, record, table
from tests.fidelity.operation import Operation
from tests.fidelity.operations import Operations
from tests.fidelity.samples import SAMPLES, Sample


def situations(operations: Operations) -> dict[str, list[Operation]]:
    """The operations before it, by the situation they create."""
    creates = {operation.row[2]: operation for operation in operations.creates("a")}
    deletes = {operation.row[2]: operation for operation in operations.deletes("a")}
    applies = {operation.row[2]: operation for operation in operations.applies("a")}
    return {
        "absent": [],
        "there": [creates["plain"]],
        "going": [creates["finalizer"], deletes["plain"]],
        "applied": [applies["labels"], applies["good-two"]],
        "labelled": [creates["labels"]],
    }


def concerned(operation: Operation, situation: str) -> bool:
    match operation.row[1]:
        case "create":
            return situation in ("absent", "there") or (situation == "going" and operation.row[2] == "plain")
        case "get" | "list":
            return situation in ("absent", "labelled")
        case "apply":
            return situation in ("absent", "there", "applied")
        case "delete":
            return situation != "absent" or operation.row[2] in ("plain", "collection", "own-uid")
        case _:
            return True


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_every_operation_has_the_same_answer(arena: Arena, sample: Sample) -> None:
    operations = Operations(sample)
    session = arena.session()
    follow_up = next(operation for operation in operations.patches("a") if operation.row[1:] == ("merge", "label"))
    for situation, before in situations(operations).items():
        for operation in operations.all("a"):
            if concerned(operation, situation):
                session.run(*before, operation)
                if situation == "there" and operation.method != "GET":
                    session.run(follow_up)  # shows what the operation left behind, field ownership included
                session.clean(operations, "a")
                session.compare_events_in_time(sample)
        session.compare_events([sample])
    session.check()


def test_the_whole_table_is_covered(arena: Arena) -> None:
    """Runs last in this file. With a selection of kinds, or in one of several workers, only their rows count."""
    if os.environ.get("FIDELITY_RECORD"):
        record(arena.rows)
    covered = {row[0] for row in arena.rows}
    missing = sorted(row for row in table() if row[0] in covered and row not in arena.rows)
    assert not missing, f"{len(missing)} rows of the table did not happen: {missing[:10]}"
