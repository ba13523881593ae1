"""The stages of a test run, and the summary at the end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tools import setup, stages
from tools.stages import Outcome, report

STAGES = """
[setup]
budget = 10
[[stage]]
name = "one"
needs = ["venv"]
run = ["touch one", "true"]
budget = 1
[[stage]]
name = "two"
needs = ["venv", "controlplane"]
run = ["{two}", "touch two"]
budget = 0
[[stage]]
name = "three"
needs = []
run = ["touch three"]
budget = 1
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """What was to be set up; nothing is."""
    parts: list[Sequence[str]] = []

    def main(wanted: Sequence[str], root: Path) -> int:
        parts.append(wanted)
        return 0

    monkeypatch.setattr(setup, "main", main)
    return parts


def declare(root: Path, two: str = "true") -> Path:
    (root / "tools").mkdir()
    (root / "tools" / "stages.toml").write_text(STAGES.format(two=two))
    return root


def done(root: Path) -> set[str]:
    return {path.name for path in root.iterdir() if path.is_file()}


def test_all_stages_run_in_order(tmp_path: Path, asked: list[Sequence[str]], capfd: pytest.CaptureFixture[str]) -> None:
    assert stages.main([], declare(tmp_path)) == 0
    assert done(tmp_path) == {"one", "two", "three"}
    assert asked == [["venv", "controlplane"]]
    out = capfd.readouterr().out
    assert out.index("=== one ===") < out.index("=== two ===") < out.index("=== three ===")


def test_budgets_add_up_to_what_is_promised() -> None:
    declared = tomllib.loads((setup.ROOT / "tools" / "stages.toml").read_text())
    warm = sum(stage["budget"] for stage in declared["stage"])
    assert warm <= 53
    assert warm + declared["setup"]["budget"] <= 75, "from nothing"


def test_a_stage_alone_is_set_up_for_itself_alone(tmp_path: Path, asked: list[Sequence[str]]) -> None:
    assert stages.main(["one"], declare(tmp_path)) == 0
    assert (done(tmp_path), asked) == ({"one"}, [["venv"]])


def test_a_failure_ends_the_run_and_fails_it(
    tmp_path: Path, asked: list[Sequence[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert stages.main([], declare(tmp_path, two="false")) == 1
    assert done(tmp_path) == {"one"}
    lines = capfd.readouterr().out.splitlines()
    words = {line.split()[0]: " ".join(line.split()[-2:]) for line in lines if line.startswith(("one", "two", "three"))}
    assert words["two"].endswith("FAILED")
    assert words["three"] == "not run"


def test_a_set_up_that_fails_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "main", lambda parts, root: 2)
    assert stages.main([], declare(tmp_path)) == 1
    assert done(tmp_path) == set()


def test_a_stage_that_takes_too_long_is_named_but_does_not_fail(
    tmp_path: Path, asked: list[Sequence[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert stages.main(["two"], declare(tmp_path)) == 0
    assert "!!! two took 0.0 minutes; its budget is 0 !!!" in capfd.readouterr().out


def test_a_stage_that_is_not_there_is_named_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stages.main(["four"], declare(tmp_path)) == 2
    assert capsys.readouterr().err == "there is no stage four; there are one, two, three\n"


def test_the_report_is_a_table() -> None:
    table = report([Outcome("set-up", 10, 0.04), Outcome("check", 1, 1.26), Outcome("cluster", 3)])
    assert table.splitlines()[1:] == [
        "stage        minutes  budget",
        "set-up           0.0    10.0  ok",
        "check            1.3     1.0  OVER BUDGET",
        "cluster                  3.0  not run",
        "total            1.3    14.0",
        "!!! check took 1.3 minutes; its budget is 1 !!!",
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_run_leaves_no_process_behind(tmp_path: Path, number: signal.Signals) -> None:
    orphan = "import os, time; os.fork() or (os.setsid(), time.sleep(600))"
    (tmp_path / "orphan.sh").write_text(f"{sys.executable} -c '{orphan}' {tmp_path.name} & sleep 600")
    declare(tmp_path, two=f"sh {tmp_path}/orphan.sh")
    run = subprocess.Popen([sys.executable, "-c", run_stages(tmp_path)], cwd=setup.ROOT)
    wait_for(lambda: len(running(tmp_path.name)) >= 2)
    run.send_signal(number)
    assert run.wait(30) is not None
    assert running(tmp_path.name) == []


def test_a_second_interruption_changes_nothing(tmp_path: Path) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    (tmp_path / "stubborn.sh").write_text(f"{sys.executable} -c '{stubborn}' {tmp_path.name} & sleep 600")
    declare(tmp_path, two=f"sh {tmp_path}/stubborn.sh")
    run = subprocess.Popen([sys.executable, "-c", run_stages(tmp_path)], cwd=setup.ROOT, stderr=subprocess.PIPE)
    wait_for(lambda: len(running(tmp_path.name)) >= 2)
    run.send_signal(signal.SIGINT)
    wait_for(lambda: len(running(tmp_path.name)) < 2)  # those that end when asked to
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 130
    assert b"Traceback" not in errors
    assert running(tmp_path.name) == []


def test_what_is_started_while_all_is_ended_is_ended_too(tmp_path: Path) -> None:
    late = f'sh -c "sleep 600; : {tmp_path.name}"'
    (tmp_path / "late.sh").write_text(f"trap 'setsid {late} & exit' TERM\nwhile true; do sleep 0.1; done\n")
    declare(tmp_path, two=f"sh {tmp_path}/late.sh")
    run = subprocess.Popen([sys.executable, "-c", run_stages(tmp_path)], cwd=setup.ROOT, stderr=subprocess.PIPE)
    wait_for(lambda: len(running(tmp_path.name)) >= 1)
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=30)
    assert b"left behind, and ended: sh -c sleep 600" in errors
    assert running(tmp_path.name) == []


def test_an_orphan_that_ends_during_the_run_is_reaped(tmp_path: Path) -> None:
    orphan = "import os, time; os.fork() or (os.setsid(), time.sleep(1))"
    (tmp_path / "orphan.sh").write_text(f"{sys.executable} -c '{orphan}' {tmp_path.name}\nsleep 600\n")
    declare(tmp_path, two=f"sh {tmp_path}/orphan.sh")
    run = subprocess.Popen([sys.executable, "-c", run_stages(tmp_path)], cwd=setup.ROOT)
    try:
        wait_for(lambda: len(children(run.pid)) == 2)
        wait_for(lambda: len(children(run.pid)) == 1)
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait(30)


def children(pid: int) -> list[str]:
    """The children of a process, those that have ended and were not reaped too."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def run_stages(root: Path) -> str:
    return f"""
from pathlib import Path
from functools import partial
from tools import descendants, setup, stages
descendants.end_all = partial(descendants.end_all, 2.0)
setup.main = lambda *_: 0
raise SystemExit(stages.program([], Path({str(root)!r})))
"""


def running(text: str) -> list[str]:
    """Command lines with this text, but for the run's own."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in command and "stages.program" not in command:
                found.append(command)
    return found


def wait_for(met: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.05)


ATTEMPTS = """
from pathlib import Path
def attempt(name):
    made = Path(__file__).with_name(name)
    made.write_text(made.read_text() + "x" if made.exists() else "x")
    return len(made.read_text())
"""


def with_tests(root: Path, tests: str, rerun: int) -> Path:
    """A stage that runs these tests, with the programs of this environment."""
    declare(root, two="pytest test_them.py")
    declared = root / "tools" / "stages.toml"
    declared.write_text(declared.read_text().replace("budget = 0", f"budget = 1\nrerun = {rerun}"))
    (root / ".venv").mkdir()
    (root / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (root / "test_them.py").write_text(ATTEMPTS + tests)
    return root


FAILS_ONCE = """
def test_that_is_stable(): assert attempt("stable") == 1
def test_that_fails_once(): assert attempt("once") > 1
"""
FAILS_ALWAYS = "def test_that_fails_always(): assert not attempt('always')"
THREE_FAIL = (
    "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_one_of_three(n): assert attempt(f'{n}') > 1"
)


def test_a_test_that_passes_when_run_once_more_is_named_as_unstable(
    tmp_path: Path, asked: list[Sequence[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert stages.main(["two"], with_tests(tmp_path, FAILS_ONCE, rerun=2)) == 0
    out = capfd.readouterr().out
    assert "!!! test_them.py::test_that_fails_once failed, and passed when it was run once more !!!" in out
    assert next(line for line in out.splitlines() if line.startswith("two ")).endswith("UNSTABLE")
    assert (tmp_path / "stable").read_text() == "x", "what passed is not run again"


@pytest.mark.parametrize(
    ("tests", "rerun"),
    [(FAILS_ALWAYS, 2), (THREE_FAIL, 2), (FAILS_ONCE, 0), ("import nothing_of_this_name", 2)],
    ids=["a second failure", "more failures than are run again", "a stage without a rerun", "a file that breaks"],
)
def test_other_failures_are_final(
    tmp_path: Path, asked: list[Sequence[str]], capfd: pytest.CaptureFixture[str], tests: str, rerun: int
) -> None:
    assert stages.main(["two"], with_tests(tmp_path, tests, rerun)) == 1
    assert "passed when it was run once more" not in capfd.readouterr().out


def test_tests_without_real_parts_have_no_second_attempt() -> None:
    declared = tomllib.loads((setup.ROOT / "tools" / "stages.toml").read_text())
    again = {stage["name"]: stage.get("rerun", 0) for stage in declared["stage"]}
    assert again["check"] == again["simulation"] == again["hostile"] == again["witness"] == again["conformance"] == 0
    assert max(again.values()) == 2
