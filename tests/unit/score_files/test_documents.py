"""Score files are read as score-go reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.score_files.documents import changed, merged, read


def values(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "score.yaml"
    path.write_text(text)
    return read(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("n", "n"),
        ("12:30:45", "12:30:45"),
        ("1.2.3", "1.2.3"),
        ("nullable", "nullable"),
        ("true", True),
        ("", None),
        ("~", None),
        ("3000", 3000),
        ("0644", 0o644),
        ("80.5", 80.5),
        ('"3000"', "3000"),
    ],
)
def test_words_are_those_of_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    found = values(tmp_path, f"a: {text}\n")["a"]
    assert found == value
    assert type(found) is type(value)


def test_a_date_is_no_text(tmp_path: Path) -> None:
    assert not isinstance(values(tmp_path, "a: 2024-02-29\n")["a"], str)


def test_a_key_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(yaml.YAMLError, match=r"duplicate keys \['a'\]"):
        values(tmp_path, "a: 1\nb: 2\na: 3\n")


def test_merge_keys_give_way_to_what_is_written(tmp_path: Path) -> None:
    assert values(tmp_path, "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\n")["b"] == {"x": 1, "y": 3}


def test_a_file_that_is_no_map_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no map"):
        values(tmp_path, "- a\n")


def test_overrides_merge_maps_replace_values_and_remove_null() -> None:
    whole = {"a": {"b": 1, "c": [1]}, "d": 2}
    assert merged(whole, {"a": {"b": None, "c": [2]}, "e": 3}) == {"a": {"c": [2]}, "d": 2, "e": 3}
    assert whole == {"a": {"b": 1, "c": [1]}, "d": 2}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("a.b=2", {"a": {"b": 2, "c.d": [1, 2]}}),
        ("a.b=", {"a": {"c.d": [1, 2]}}),
        (r"a.c\.d.0=3", {"a": {"b": 1, "c.d": [3, 2]}}),
        (r"a.c\.d.-1=3", {"a": {"b": 1, "c.d": [1, 2, 3]}}),
        (r"a.c\.d.1=", {"a": {"b": 1, "c.d": [1]}}),
        ("x.y={z: 1}", {"a": {"b": 1, "c.d": [1, 2]}, "x": {"y": {"z": 1}}}),
        ('a.b="2"', {"a": {"b": "2", "c.d": [1, 2]}}),
    ],
)
def test_one_override_changes_one_place(override: str, expected: dict[str, Any]) -> None:
    assert changed({"a": {"b": 1, "c.d": [1, 2]}}, override) == expected
