"""Puts the fragments of changes/ into CHANGELOG.md as the section of a version.

python -m tools.changelog VERSION
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tools.setup import ROOT

KINDS = ("added", "changed", "fixed", "removed", "security")
UNRELEASED = "## [Unreleased]"
LATER_SECTION = re.compile(r"^## ", re.MULTILINE)


def fragments(root: Path = ROOT) -> dict[str, list[Path]]:
    """By kind. A name that is not `<what>.<kind>.md` is an error."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted((root / "changes").iterdir()):
        if path.name == "README.md":
            continue
        parts = path.name.split(".")
        if len(parts) != 3 or parts[1] not in KINDS or parts[2] != "md":
            raise ValueError(f"{path.name} is not named <what>.<kind>.md with one of {', '.join(KINDS)}")
        found[parts[1]].append(path)
    return found


def released(changelog: str, version: str, day: str, added: dict[str, list[str]]) -> str:
    """The changelog with a section of this version: what was unreleased, and these entries by kind."""
    head, _, rest = changelog.partition(f"{UNRELEASED}\n")
    later = LATER_SECTION.search(rest)
    unreleased, older = (rest[: later.start()], rest[later.start() :]) if later else (rest, "")
    section = unreleased.strip()
    for kind, entries in added.items():
        title = f"### {kind.capitalize()}\n"
        lines = "\n".join("- " + "\n  ".join(entry.strip().splitlines()) for entry in entries)
        if title in section:
            section = section.replace(title, f"{title}\n{lines}", 1)
        else:
            section += f"\n\n{title}\n{lines}"
    return f"{head}{UNRELEASED}\n\n## [{version}] - {day}\n\n{section.strip()}\n\n{older}".rstrip() + "\n"


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    if len(arguments) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+", arguments[0]):
        print("usage: python -m tools.changelog VERSION, for example 0.2.0", file=sys.stderr)
        return 2
    found = fragments(root)
    entries = {kind: [path.read_text() for path in paths] for kind, paths in found.items()}
    changelog = root / "CHANGELOG.md"
    day = datetime.now(UTC).date().isoformat()
    changelog.write_text(released(changelog.read_text(), arguments[0], day, entries))
    for paths in found.values():
        for path in paths:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
