"""The reference pages show what the code declares."""

from __future__ import annotations

import pytest

from tools.reference import FOLDER, MEANINGS, meanings, pages


@pytest.mark.parametrize("name", list(pages()))
def test_a_reference_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], "write it anew with `python -m tools.reference`"


def test_there_is_no_page_that_nobody_makes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(pages())


def test_what_reasons_mean_is_up_to_date() -> None:
    assert MEANINGS.read_text() == meanings(), "write it anew with `python -m tools.reference`"
