"""Patterns of schemas, as RE2 means them."""

from __future__ import annotations

import pytest

from seamark.cluster.embedded.custom.formats import regex


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^a$", "a", True),
        (r"^a$", "a\n", False),
        (r"^a\z", "a\n", False),
        (r"^\$a$", "$a", True),
        (r"^[a$]+$", "a$", True),
        (r"^[]$]+$", "]$", True),
        (r"^[^$]+$", "a$", False),
        (r"^[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$", "example.com/a$b", True),
    ],
)
def test_a_dollar_is_the_end_of_the_text_and_in_a_class_itself(pattern: str, text: str, found: bool) -> None:
    assert (regex(pattern).search(text) is not None) is found
