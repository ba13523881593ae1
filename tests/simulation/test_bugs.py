"""The bank of planted bugs: big enough, and every one still applies. `make seeded-bugs` shows that all are caught."""

from __future__ import annotations

import pytest

from tests.simulation.bugs.bank import BANK
from tests.simulation.bugs.bug import Bug, Change, NotApplicableError


def test_there_are_enough_of_every_class() -> None:
    assert len(BANK) >= 40
    assert len({bug.name for bug in BANK}) == len(BANK)
    assert len({bug.kind for bug in BANK}) == 6


@pytest.mark.parametrize("bug", BANK, ids=lambda bug: bug.name)
def test_it_can_still_be_planted(bug: Bug) -> None:
    for module, source in bug.sources().items():
        compile(source, module, "exec")


def test_a_bug_that_no_longer_applies_is_told_so() -> None:
    bug = Bug("old", "none", "of another time", (Change("seamark_runtime.loop", "this does not stand there", ""),))
    with pytest.raises(NotApplicableError, match="stands 0 times"):
        bug.sources()
