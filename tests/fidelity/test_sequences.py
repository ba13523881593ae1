"""Random sequences: operations of several kinds in one namespace, in any order, with all their events."""

from __future__ import annotations

import os

import hypothesis
from hypothesis import strategies as st

from tests.fidelity.arena import Arena
from tests.fidelity.operation import Operation
from tests.fidelity.operations import NAMES, Operations
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


def moves_of(sample: Sample) -> st.SearchStrategy[Operation]:
    """Any operation, but mostly valid ones: the many errors are covered by the other tests."""
    everything = [operation for name in NAMES for operation in Operations(sample).all(name)]
    fruitful = [
        operation for operation in everything if "mistake" not in operation.row[2] and "bad" not in operation.row[2]
    ]
    return st.one_of(st.sampled_from(fruitful), st.sampled_from(fruitful), st.sampled_from(everything))


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[Sample], list[Operation]]:
    samples = draw(st.lists(st.sampled_from(MIXED), min_size=1, max_size=2, unique_by=lambda sample: sample.kind))
    operations = draw(st.lists(st.one_of(*[moves_of(sample) for sample in samples]), min_size=5, max_size=30))
    return samples, operations


@hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FIDELITY_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(sequence=sequences())
def test_any_sequence_has_the_same_answers_and_events(
    arena: Arena, sequence: tuple[list[Sample], list[Operation]]
) -> None:
    samples, operations = sequence
    session = arena.session()
    session.run(*operations)
    session.compare_events(samples)
    for sample in samples:
        for name in NAMES:
            session.clean(Operations(sample), name)
    session.check()
