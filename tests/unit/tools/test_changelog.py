"""Changes are fragments: well named, with content, and put together at a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.changelog import fragments, main, released

BEFORE = """# Changelog

## [Unreleased]

### Changed

- Something older.

## [0.1.0] - 2026-01-01

- The first.
"""


def test_every_fragment_has_a_kind_and_says_something() -> None:
    for paths in fragments().values():
        for path in paths:
            text = path.read_text().strip()
            assert text.endswith("."), path.name
            assert "\n\n" not in text, f"{path.name}: one paragraph is enough"
            assert max(map(len, text.splitlines())) <= 140, path.name


def test_entries_come_into_the_section_of_the_version() -> None:
    after = released(BEFORE, "0.2.0", "2026-02-02", {"changed": ["A thing\nis new.\n"], "fixed": ["Another."]})
    assert (
        after
        == """# Changelog

## [Unreleased]

## [0.2.0] - 2026-02-02

### Changed

- A thing
  is new.
- Something older.

### Fixed

- Another.

## [0.1.0] - 2026-01-01

- The first.
"""
    )


def test_a_release_uses_the_fragments_up(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "a.added.md").write_text("A.\n")
    assert main(["0.2.0"], tmp_path) == 0
    assert "### Added\n\n- A.\n" in (tmp_path / "CHANGELOG.md").read_text()
    assert list((tmp_path / "changes").iterdir()) == []


@pytest.mark.parametrize("name", ["a.md", "a.new.md", "a.fixed.txt"])
def test_a_fragment_with_another_name_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / name).write_text("A.\n")
    with pytest.raises(ValueError, match="is not named"):
        fragments(tmp_path)
