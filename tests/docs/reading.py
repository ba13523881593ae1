"""A page as a person follows it: files to save, commands to run, and what is shown below them.

- A `console` block has commands after `$ ` and what they say below. A `sh` block has commands alone.
- A command goes on in the next line after a backslash and inside of quotes, and to the end of its here-document.
- A `yaml` or `python` block whose first line is a comment with a file's name is saved as that file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:ya?ml|py|json))\b")
HERE = re.compile(r"<<-?'?(\w+)'?")


@dataclass(frozen=True)
class Save:
    """A file that the page has people write."""

    name: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One command, and the lines that the page shows below it."""

    text: str
    shown: tuple[str, ...]
    line: int


Step = Save | Command


def steps(page: Path) -> list[Step]:
    return list(_steps(page.read_text()))


def _steps(text: str) -> Iterator[Step]:
    for found in FENCE.finditer(text):
        indent, language, inner = found.groups()
        lines = [line.removeprefix(indent) for line in inner.splitlines()]
        at = text.count("\n", 0, found.start()) + 2
        if language == "console":
            yield from _console(lines, at)
        elif language == "sh":
            yield from _shell(lines, at)
        elif lines and (named := FILE_NAME.match(lines[0])):
            yield Save(named[1], "\n".join(lines) + "\n", at)


def _console(lines: list[str], at: int) -> Iterator[Command]:
    place = 0
    while place < len(lines):
        if not lines[place].startswith("$ "):
            raise ValueError(f"line {at + place}: {lines[place]!r} is below no command")
        end = _end(lines, place)
        after = next((later for later in range(end, len(lines)) if lines[later].startswith("$ ")), len(lines))
        words = "\n".join([lines[place].removeprefix("$ "), *lines[place + 1 : end]])
        shown = tuple(line for line in lines[end:after] if line.strip())
        yield Command(words, shown, at + place)
        place = after


def _shell(lines: list[str], at: int) -> Iterator[Command]:
    place = 0
    while place < len(lines):
        end = _end(lines, place)
        words = "\n".join(lines[place:end])
        if words.strip() and not words.lstrip().startswith("#"):
            yield Command(words, (), at + place)
        place = end


def _end(lines: list[str], place: int) -> int:
    """The line after the command that begins here."""
    end = place
    while end + 1 < len(lines) and _goes_on("\n".join(lines[place : end + 1])):
        end += 1
    if here := HERE.search(lines[end]):
        end = lines.index(here[1], end)
    return end + 1


def _goes_on(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:  # a backslash at the end, or a quote that is not closed
        return True
    return False
