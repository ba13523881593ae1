"""What is written into the fields: all classes, the same for the same seed, and JSON that no library would make."""

from __future__ import annotations

import json

import pytest

from tests.hostile.client import decoded, shallow
from tests.hostile.corpus import chosen, entries, shaped
from tests.hostile.documents import Raw, bomb, encoded, nested
from tests.hostile.schema import Field
from tests.hostile.texts import TEXTS

NAME = Field("Thing", ("spec", "name"), "string")


def test_a_text_field_gets_a_value_of_every_class() -> None:
    assert {entry.group for entry in chosen(NAME, "web", 1, seed=1)} == set(TEXTS)


def test_every_text_field_gets_all_slow_texts_at_once_in_its_form() -> None:
    for current, name in (("web", "all"), ("tcp://web:80", "all-formed")):
        found = [entry for entry in chosen(NAME, current, 1, seed=3) if entry.group == "quadratic"]
        (whole,) = [entry for entry in found if entry.name == name]
        assert all(
            text[:4_000] in whole.value for text in TEXTS["quadratic"].values() if text != TEXTS["quadratic"]["all"]
        )
        assert len(whole.value) < 120_000


def test_the_same_seed_chooses_the_same_values() -> None:
    assert chosen(NAME, "web", 2, seed=7) == chosen(NAME, "web", 2, seed=7)
    assert chosen(NAME, "web", 2, seed=7) != chosen(NAME, "web", 2, seed=8)


@pytest.mark.parametrize("type_", ["string", "number", "boolean", "list", "map", "any"])
def test_every_type_of_field_has_values(type_: str) -> None:
    assert len(entries(Field("Thing", ("spec", "x"), type_), None)) >= 4


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("tcp://web:80", "tcp://x:80"),
        ("h-1.example.test", "x.example.test"),
        ("/healthz", "/x"),
        ("${resources.a.b}", "${x}"),
        ("plain", "x"),
        (None, "x"),
    ],
)
def test_a_text_takes_the_form_of_what_is_there(current: str | None, expected: str) -> None:
    assert shaped(current, "x") == expected


def test_a_manifest_may_be_deeper_than_the_json_library_can_write() -> None:
    text = encoded({"spec": {"policy": nested(2_000), "number": Raw("9" * 5_000)}})
    assert text.count(b"[") == 2_000
    with pytest.raises((RecursionError, ValueError)):
        json.loads(text)


def test_what_is_too_deep_is_read_without_the_depths() -> None:
    whole = {"metadata": {"name": 'a"]}b'}, "spec": nested(2_000), "status": {"phase": "Bound"}}
    found = decoded(encoded(whole))
    assert found["metadata"]["name"] == 'a"]}b'
    assert found["status"] == {"phase": "Bound"}


def test_what_is_not_too_deep_is_left_as_it_is() -> None:
    text = b'{"a": ["\\\\", "\\"[", {"b": [1, 2]}]}'
    assert shallow(text) == text


def test_numbers_of_any_length_are_read() -> None:
    assert decoded(b'{"a": ' + b"9" * 5_000 + b', "b": 1}')["b"] == 1


def test_a_yaml_bomb_is_small_and_would_be_large() -> None:
    assert len(bomb()) < 1_000
    assert bomb(3).count("*a1") == 9
