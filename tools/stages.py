"""Runs the stages of tools/stages.toml and says how many minutes each took.

python -m tools.stages [NAME ...]
"""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import descendants, setup
from tools.results import FOLDER

TESTS_FAILED = 1  # pytest's exit code if it ran to its end; a crash or an interruption is another one


@dataclasses.dataclass(frozen=True)
class Stage:
    """A part of the test run: commands that must all succeed, and the minutes that they may take.

    `rerun` is how many failed tests are run once more, alone. A test that passes then is unstable: the report names it,
    and the stage does not fail. More failures than that, or a second one, fail the stage.
    """

    name: str
    needs: tuple[str, ...]
    run: tuple[str, ...]
    budget: float
    rerun: int = 0


@dataclasses.dataclass
class Outcome:
    """How a stage went; `minutes` is None if it was not run."""

    name: str
    budget: float
    minutes: float | None = None
    failed: bool = False
    unstable: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        return self.minutes is not None and self.minutes > self.budget

    @property
    def word(self) -> str:
        if self.minutes is None:
            return "not run"
        words = {"FAILED": self.failed, "OVER BUDGET": self.over, "UNSTABLE": bool(self.unstable)}
        return next((word for word, applies in words.items() if applies), "ok")


def main(names: Sequence[str], root: Path = setup.ROOT) -> int:
    declared = tomllib.loads((root / "tools" / "stages.toml").read_text())
    stages = [_stage(entry) for entry in declared["stage"]]
    if unknown := set(names) - {stage.name for stage in stages}:
        known = ", ".join(stage.name for stage in stages)
        print(f"there is no stage {', '.join(sorted(unknown))}; there are {known}", file=sys.stderr)
        return 2
    chosen = [stage for stage in stages if not names or stage.name in names]
    outcomes = [
        Outcome("set-up", declared["setup"]["budget"]),
        *(Outcome(stage.name, stage.budget) for stage in chosen),
    ]
    try:
        _run_all(chosen, outcomes, root)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    print(report(outcomes))
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _stage(entry: Mapping[str, Any]) -> Stage:
    return Stage(entry["name"], tuple(entry["needs"]), tuple(entry["run"]), entry["budget"], entry.get("rerun", 0))


def _run_all(stages: Sequence[Stage], outcomes: Sequence[Outcome], root: Path) -> None:
    """Fills in the outcomes; the first failure ends it, for what follows would only bury its message."""
    began = time.monotonic()
    needs = dict.fromkeys(need for stage in stages for need in stage.needs)
    outcomes[0].failed = setup.main(list(needs), root) != 0
    outcomes[0].minutes = (time.monotonic() - began) / 60
    for stage, outcome in zip(stages, outcomes[1:], strict=True):
        if any(before.failed for before in outcomes):
            return
        print(f"\n=== {stage.name} ===", flush=True)
        began = time.monotonic()
        for command in stage.run:
            succeeds, unstable = _run_command(command, stage, root)
            outcome.unstable += unstable
            if not succeeds:
                outcome.failed = True
                break
        outcome.minutes = (time.monotonic() - began) / 60


def _run_command(command: str, stage: Stage, root: Path) -> tuple[bool, tuple[str, ...]]:
    """Whether it succeeds, and which of its tests succeeded at the second attempt only."""
    if not (stage.rerun and command.startswith("pytest ")):
        return _exit_code(command, root) == 0, ()
    cache = root / FOLDER / "pytest" / stage.name
    shutil.rmtree(cache, ignore_errors=True)
    code = _exit_code(f"{command} -o cache_dir={shlex.quote(str(cache))}", root)
    failed = _failed_tests(cache) if code == TESTS_FAILED else ()
    if not 0 < len(failed) <= stage.rerun:
        return code == 0, ()
    print(f"\n{len(failed)} failed; run once more, alone", flush=True)
    passes = _exit_code(shlex.join(("pytest", *failed)), root) == 0
    return passes, failed if passes else ()


def _failed_tests(cache: Path) -> tuple[str, ...]:
    """What pytest's own cache names as failed."""
    found = cache / "v" / "cache" / "lastfailed"
    return tuple(sorted(json.loads(found.read_text()))) if found.exists() else ()


def _exit_code(command: str, root: Path) -> int:
    print(f"$ {command}", flush=True)
    binaries = root / ".venv" / "bin"
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"}
    return descendants.wait(subprocess.Popen(shlex.split(command), cwd=root, env=environment))


def report(outcomes: Sequence[Outcome]) -> str:
    """Minutes against the budget, a line for each stage; what took too long is named once more at the end."""
    lines = ["", f"{'stage':<12}{'minutes':>8}{'budget':>8}"]
    for outcome in outcomes:
        minutes = "" if outcome.minutes is None else f"{outcome.minutes:.1f}"
        lines.append(f"{outcome.name:<12}{minutes:>8}{outcome.budget:>8.1f}  {outcome.word}")
    total = sum(outcome.minutes or 0 for outcome in outcomes)
    lines.append(f"{'total':<12}{total:>8.1f}{sum(outcome.budget for outcome in outcomes):>8.1f}")
    for outcome in outcomes:
        if outcome.over:
            lines.append(f"!!! {outcome.name} took {outcome.minutes:.1f} minutes; its budget is {outcome.budget:g} !!!")
        lines += [f"!!! {test} failed, and passed when it was run once more !!!" for test in outcome.unstable]
    return "\n".join(lines)


def program(names: Sequence[str], root: Path = setup.ROOT) -> int:
    """`main` as a process of its own: however it ends, no process that it has started stays."""
    descendants.adopt_orphans()
    descendants.interrupt_once()
    try:
        return main(names, root)
    finally:
        for command in descendants.end_all():
            print(f"left behind, and ended: {command[:200]}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
