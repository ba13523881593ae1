"""Every move of every kind, in every situation that matters for it, on both sides."""

from __future__ import annotations

import os

import pytest

from tests.fidelity.arena import Arena, record, table
from tests.fidelity.move import Move
from tests.fidelity.operations import Moves
from tests.fidelity.samples import SAMPLES, Sample


def situations(moves: Moves) -> dict[str, list[Move]]:
    """What was done before, by the situation it makes."""
    creates = {move.row[2]: move for move in moves.creates("a")}
    deletes = {move.row[2]: move for move in moves.deletes("a")}
    applies = {move.row[2]: move for move in moves.applies("a")}
    return {
        "absent": [],
        "there": [creates["plain"]],
        "going": [creates["finalizer"], deletes["plain"]],
        "applied": [applies["labels"], applies["good-two"]],
        "labelled": [creates["labels"]],
    }


def concerned(move: Move, situation: str) -> bool:
    match move.row[1]:
        case "create":
            return situation in ("absent", "there") or (situation == "going" and move.row[2] == "plain")
        case "get" | "list":
            return situation in ("absent", "labelled")
        case "apply":
            return situation in ("absent", "there", "applied")
        case "delete":
            return situation != "absent" or move.row[2] in ("plain", "collection", "own-uid")
        case _:
            return True


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_every_move_has_the_same_answer(arena: Arena, sample: Sample) -> None:
    moves = Moves(sample)
    bout = arena.bout()
    follow_up = next(move for move in moves.patches("a") if move.row[1:] == ("merge", "label"))
    for situation, before in situations(moves).items():
        for move in moves.all("a"):
            if concerned(move, situation):
                bout.play(*before, move)
                if situation == "there" and move.method != "GET":
                    bout.play(follow_up)  # shows what the move left behind, claims included
                bout.clean(moves, "a")
        bout.compare_events([sample])
    bout.check()


def test_the_whole_table_is_covered(arena: Arena) -> None:
    """Runs last in this file. Under a selection of kinds, or in one of several workers, only their rows count."""
    if os.environ.get("FIDELITY_RECORD"):
        record(arena.rows)
    played = {row[0] for row in arena.rows}
    missing = sorted(row for row in table() if row[0] in played and row not in arena.rows)
    assert not missing, f"{len(missing)} rows of the table did not happen: {missing[:10]}"
