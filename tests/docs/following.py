"""How a page is followed: in a directory of its own, in what it takes for granted, one command after the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.docs.reading import Command, Save, Step, steps
from tests.docs.shell import Shell
from tests.docs.worlds import Words, World
from tools.setup import ROOT

GIVEN = Path(__file__).parent / "given"  # what was there before, by the name of the page
ON_AN_INSTALLATION = ("docs/guides/install.md", "docs/operations.md")
"""They need Helm and a node that runs the image: tests/install follows them."""
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if any(isinstance(one, Command) for one in steps(page))
}
Reasons = Mapping[str, str]
"""What can't be run here, by the beginning of the command; and why."""


def follow(page: str, directory: Path, world: World, not_here: Reasons) -> None:
    """Everything that the page has people save and run, as it stands there."""
    with _followed(page, directory, world) as (shell, words):
        for step in steps(PAGES[page]):
            match _here(step, words):
                case Save(name=name, text=text):
                    (directory / name).write_text(text)
                case Command() as command if not any(step.text.startswith(begin) for begin in not_here):
                    shell.follow(command)


def passed(page: str, not_here: Reasons) -> list[str]:
    """Beginnings for which the page has no command any more."""
    commands = [one.text for one in steps(PAGES[page]) if isinstance(one, Command)]
    return [begin for begin in not_here if not any(text.startswith(begin) for text in commands)]


@contextmanager
def _followed(page: str, directory: Path, world: World) -> Iterator[tuple[Shell, Words]]:
    """A directory with what the repository has for readers, and what the page takes for granted."""
    for name in ("examples", "docs", "charts"):
        (directory / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "deploy", directory / "deploy")
    with world(directory) as (environment, words):
        shell = Shell(directory, environment)
        try:
            if (given := GIVEN / f"{Path(page).stem}.sh").exists():
                shell.follow(Command(f"bash -e {given}", (), 0))
            yield shell, words
        finally:
            shell.close()


def _here(step: Step, words: Words) -> Step:
    """With this machine's words in the place of the page's."""

    def replaced(text: str) -> str:
        for theirs, ours in words.items():
            text = text.replace(theirs, ours)
        return text

    if isinstance(step, Save):
        return Save(step.name, replaced(step.text), step.line)
    return Command(replaced(step.text), tuple(replaced(line) for line in step.shown), step.line)
