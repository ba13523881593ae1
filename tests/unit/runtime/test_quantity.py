"""Quantities: exact amounts, the API server's canonical form, and limits on untrusted text."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.quantity import InvalidQuantity, Quantity, amount_of, canonical

CANONICAL = {
    "1000m": "1",
    "1.5": "1500m",
    "-0.5": "-500m",
    "+2000": "2k",
    "1024Mi": "1Gi",
    "1.5Gi": "1536Mi",
    "1.1Gi": "1181116006400m",  # an amount that is not a whole number keeps its precision, in decimal form
    "0.5Ki": "512",
    "1500e-3": "1500e-3",
    "1e3": "1e3",
    "1000e0": "1e3",
    "0.1n": "1n",
    "0Ki": "0",
    "100u": "100u",
    "7.": "7",
}


@pytest.mark.parametrize(("text", "written"), CANONICAL.items())
def test_a_quantity_is_written_as_the_api_server_writes_it(text: str, written: str) -> None:
    assert canonical(text) == written


def test_amounts_are_exact() -> None:
    assert amount_of("0.1") + amount_of("0.2") == amount_of("300m") == Fraction(3, 10)
    assert str(Quantity(amount_of("1Gi") + amount_of("1"))) == "1073741825"


@pytest.mark.parametrize("text", ["", "1 ", "1\n", "Ki", "1K", "1e", "1e1000", "0x10", "\u0661", "1_0", "9" * 129, "."])
def test_a_text_outside_the_limits_is_refused_with_the_api_servers_message(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="quantities must match the regular expression"):
        amount_of(text)


@given(st.from_regex(r"\A[+-]?[0-9]{1,25}(\.[0-9]{0,12})?(n|u|m|k|Ki|Ei|E|e[-+]?[0-9]{1,2})?\Z"))
def test_the_canonical_form_is_its_own_canonical_form(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)
