"""`make simulate` and `make seeded-bugs`, as a person uses them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources import PYTHONPATH

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(filter(None, [str(ROOT), PYTHONPATH, os.environ.get("PYTHONPATH", "")]))


def command(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": PATHS}
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_last_line_says_how_it_went_and_the_numbers_are_kept(tmp_path: Path) -> None:
    done = command("tests.simulation", "--family", "unverified", "--seeds", "30", "--keep", str(tmp_path))
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert re.fullmatch(r"simulate: seeds=30 failures=0 per_core_second=\d+\.\d", last), last
    (kept,) = (json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines())
    assert (kept["family"], kept["numbers"]["seeds"], kept["numbers"]["failures"]) == ("unverified", 30, 0)


def test_a_schedule_is_replayed_as_a_story() -> None:
    done = command("tests.simulation", "--replay", "sample/0/calm/2:CRASH_AFTER")
    assert done.returncode == 0, done.stderr
    assert "the operator's process dies" in done.stdout
    assert done.stdout.splitlines()[-1] == "sample/0/calm/2:CRASH_AFTER: every promise was kept"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--family", "nobody"), "there is no family 'nobody'; there are core, sample"),
        (("--seeds", "many"), "SEEDS is a number of schedules, and 'many' is none"),
        (("--seeds", "0"), "SEEDS is a number of schedules, and '0' is none"),
        (("--seeds", "5", "6"), "unrecognized arguments: 6"),
        (("--replay", "seven"), "'seven' is no seed"),
        (("--replay", "nobody/1/calm/"), "there is no family 'nobody'"),
        (("--replay", "sample/1/calm/3:RAIN"), "there is no fault 'RAIN'"),
    ],
)
def test_bad_input_gets_one_clear_line(arguments: tuple[str, ...], words: str) -> None:
    done = command("tests.simulation", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_a_planted_bug_is_caught() -> None:
    done = command("tests.simulation.seeded_bugs", "--only", "write deadline ignored")
    assert done.returncode == 0, done.stdout
    assert "one leader" in done.stdout
    assert done.stdout.splitlines()[-1] == "seeded-bugs: caught=1 of=1"
