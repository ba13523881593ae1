"""Sequences nobody thought of: moves of several kinds in one namespace, in any order, with all their events."""

from __future__ import annotations

import os

import hypothesis
from hypothesis import strategies as st

from tests.fidelity.arena import Arena
from tests.fidelity.move import Move
from tests.fidelity.operations import NAMES, Moves
from tests.fidelity.samples import (
    CONFIG_MAP,
    DEPLOYMENT,
    GADGET,
    LEASE,
    POD,
    SECRET,
    SERVICE,
    WIDGET,
    Sample,
)

MIXED = [CONFIG_MAP, WIDGET, GADGET, SECRET, SERVICE, DEPLOYMENT, LEASE, POD]
EXAMPLES = int(os.environ.get("FIDELITY_EXAMPLES", "60"))


def moves_of(sample: Sample) -> st.SearchStrategy[Move]:
    """Any move, but mostly ones that do something: mistakes are many, and the other tests make them all."""
    everything = [move for name in NAMES for move in Moves(sample).all(name)]
    fruitful = [move for move in everything if "mistake" not in move.row[2] and "bad" not in move.row[2]]
    return st.one_of(st.sampled_from(fruitful), st.sampled_from(fruitful), st.sampled_from(everything))


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[Sample], list[Move]]:
    samples = draw(st.lists(st.sampled_from(MIXED), min_size=1, max_size=2, unique_by=lambda sample: sample.kind))
    moves = draw(st.lists(st.one_of(*[moves_of(sample) for sample in samples]), min_size=5, max_size=30))
    return samples, moves


@hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FIDELITY_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(sequence=sequences())
def test_any_sequence_has_the_same_answers_and_events(arena: Arena, sequence: tuple[list[Sample], list[Move]]) -> None:
    samples, moves = sequence
    bout = arena.bout()
    bout.play(*moves)
    bout.compare_events(samples)
    for sample in samples:
        for name in NAMES:
            bout.clean(Moves(sample), name)
    bout.check()
