"""The bank of seeded bugs: big enough, and each can be planted. `make seeded-bugs` shows that all are caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark_runtime.ownership import ByReference
from seamark_runtime.redaction import redact
from tests.simulation import schedules
from tests.simulation.bugs import bank
from tests.simulation.bugs.bank import BANK, named
from tests.simulation.bugs.bug import Bug, NotFoundError, planted, swap
from tests.sources import ROOT


def test_there_are_enough_of_every_class() -> None:
    assert len(BANK) >= 120
    assert len({bug.name for bug in BANK}) == len(BANK)
    assert len({bug.kind for bug in BANK}) == 6


def test_no_module_of_bugs_is_left_out() -> None:
    modules = {path.stem for path in Path(bank.__file__).parent.glob("*.py") if "BUGS = Bugs(" in path.read_text()}
    assert modules == {part.__name__.rpartition(".")[2] for part in bank.PARTS}


@pytest.mark.parametrize("bug", BANK, ids=lambda bug: bug.name)
def test_it_replaces_something(bug: Bug) -> None:
    with planted(bug) as references:
        assert references


@pytest.mark.parametrize("bug", [bug for bug in BANK if bug.test], ids=lambda bug: bug.name)
def test_the_test_that_finds_it_exists(bug: Bug) -> None:
    path, _, name = bug.test.partition("::")
    assert not name or f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


def test_what_was_replaced_is_restored() -> None:
    before = ByReference.token
    with planted(named("name instead of uid")):
        assert ByReference.token is not before
    assert ByReference.token is before


def test_a_function_that_nothing_refers_to_is_an_error() -> None:
    with pytest.raises(NotFoundError):
        swap(redact, redact, only=schedules)
