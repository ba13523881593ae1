"""The folders of `files/`, read and held to their form. Pure: no cluster, no network, no other program.

- `load()` gives every folder as a `Case`: its expectation, and its Score files with the overrides of the first command.
- `problems(case)` says what is wrong with a folder; a runner may rely on what it checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.score_files.documents import Document, changed, merged, read
from tests.score_files.forms import Apply, Expect, Expectation, Refused

ROOT = Path(__file__).parent
FILES = ROOT / "files"
OUTCOME = re.compile(r"accepted(: .+)?|refused: .+")
BY_THE_RUNNER = frozenset({"expect.yaml"})


@dataclass(frozen=True)
class Case:
    """One folder."""

    folder: Path
    expectation: Expectation

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def valid(self) -> bool:
        return self.expectation.refused is None

    @property
    def applied(self) -> list[Apply]:
        """Every command of the folder, the first one and those of the steps."""
        return [self.expectation.apply, *(step.apply for step in self.expectation.then if step.apply)]

    @property
    def expects(self) -> list[Expect]:
        found = [self.expectation.expect, *(step.expect for step in self.expectation.then)]
        return [expect for expect in found if expect is not None]

    @property
    def refusals(self) -> list[Refused]:
        found = [self.expectation.refused, *(step.refused for step in self.expectation.then)]
        return [refused for refused in found if refused is not None]

    @cached_property
    def workloads(self) -> dict[str, list[Document]]:
        """Valid folders only: every document that is applied under a name, in the order of the commands."""
        found: dict[str, list[Document]] = {}
        for command in self.applied:
            for name in command.files:
                document = self.document(command, name)
                found.setdefault(document["metadata"]["name"], []).append(document)
        return found

    def document(self, command: Apply, name: str) -> Document:
        """A file after the overrides of its command."""
        document = read(self.folder / name)
        if command.overrides_file:
            document = merged(document, read(self.folder / command.overrides_file))
        for override in command.override_properties:
            document = changed(document, override)
        return document

    def containers(self, workload: str) -> dict[str, list[dict[str, Any]]]:
        """Every form that a container of a Workload takes in the course of the folder."""
        found: dict[str, list[dict[str, Any]]] = {}
        for document in self.workloads.get(workload, ()):
            for name, container in document["containers"].items():
                found.setdefault(name, []).append(container)
        return found

    def images(self) -> set[str]:
        """Every image that runs: those of the files, and those supplied for a dot."""
        written = {
            container["image"]
            for workload in self.workloads
            for forms in self.containers(workload).values()
            for container in forms
        }
        supplied = {command.image for command in self.applied if command.image}
        return (written - {"."}) | supplied


def load() -> list[Case]:
    """All folders by name. An `expect.yaml` that is not of the known form is an error that names the folder."""
    return [load_folder(folder) for folder in sorted(FILES.iterdir())]


def load_folder(folder: Path) -> Case:
    text = (folder / "expect.yaml").read_text(encoding="utf-8")
    try:
        return Case(folder, msgspec.convert(yaml.safe_load(text), Expectation))
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise ValueError(f"{folder.name}/expect.yaml: {error}") from error


# ---- what every folder must be


def problems(case: Case, features: set[str], decisions: set[str]) -> Iterator[str]:
    """What is wrong with a folder beside its form, as sentences."""
    expectation = case.expectation
    yield from (f"covers an unknown feature {name}" for name in set(expectation.covers) - features)
    yield from (f"names an unknown decision {name}" for name in set(expectation.decisions) - decisions)
    if not expectation.covers:
        yield "covers nothing"
    if (expectation.expect is None) == (expectation.refused is None):
        yield "needs exactly one of expect and refused"
    if expectation.refused and (expectation.then or expectation.given):
        yield "a refused file has no steps and nothing given"
    for reference in (expectation.schema, expectation.score_go, expectation.score_k8s):
        if not OUTCOME.fullmatch(reference):
            yield f"{reference!r} is neither accepted nor refused with a reason"
    yield from _unjustified(expectation)
    yield from _files(case)
    yield from _steps(case)


def _unjustified(expectation: Expectation) -> Iterator[str]:
    """A file that the references accept is refused at once only by a decision of ours."""
    accepted = all(outcome.startswith("accepted") for outcome in (expectation.schema, expectation.score_go))
    stage = expectation.refused.stage if expectation.refused else None
    if stage == "file" and accepted and not expectation.decisions and not _by_the_command(expectation):
        yield "schema and score-go accept it; it is refused by no decision"


def _by_the_command(expectation: Expectation) -> bool:
    """Options that do not fit the files are refused whatever is in these."""
    command = expectation.apply
    return bool(command.override_properties or len(command.files) > 1)


def _files(case: Case) -> Iterator[str]:
    named = {name for command in case.applied for name in (*command.files, command.overrides_file or "expect.yaml")}
    named |= {case.expectation.given} if case.expectation.given else set()
    missing = sorted(name for name in named if not (case.folder / name).is_file())
    yield from (f"names {name}, which is not there" for name in missing)
    if missing:
        return
    there = {path.relative_to(case.folder).as_posix() for path in case.folder.rglob("*") if path.is_file()}
    for name in sorted(there - named - BY_THE_RUNNER - set(sources(case))):
        yield f"has {name}, which no command applies and no file names as a source"


def sources(case: Case) -> Iterator[str]:
    """The files that a valid Score file embeds."""
    for workload in case.workloads if case.valid else ():
        for forms in case.containers(workload).values():
            for container in forms:
                files = container.get("files") or {}
                for entry in files.values() if isinstance(files, dict) else files:
                    if "source" in entry:
                        yield Path(entry["source"]).as_posix()


def _steps(case: Case) -> Iterator[str]:
    for step in case.expectation.then:
        actions = [step.apply, step.delete, step.restart, step.run]
        if sum(action is not None for action in actions) != 1:
            yield f"step {step.step!r} has not exactly one action"
        if step.refused and not step.apply:
            yield f"step {step.step!r} is refused and applies nothing"
