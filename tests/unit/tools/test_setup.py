"""Set-up happens when something changed, and only then."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools import setup
from tools.progress import Bar
from tools.setup import Failed, ensure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "dev.lock").write_text("one==1\n")
    (tmp_path / "pyproject.toml").write_text("[tool.y]\nz = 1\n")
    (tmp_path / "packages" / "a").mkdir(parents=True)
    (tmp_path / "packages" / "a" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    return tmp_path


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done, in place of doing it."""
    done: list[str] = []

    def make(root: Path, bar: Bar) -> None:
        shutil.rmtree(root / ".venv", ignore_errors=True)
        (root / ".venv").mkdir()
        done.append("environment")

    monkeypatch.setattr(setup, "_make_environment", make)
    monkeypatch.setattr(setup, "_install_packages", lambda root, python, bar: done.append("packages"))
    monkeypatch.setattr(setup, "_run", lambda command: done.append("seamark"))
    return done


def again(root: Path, steps: list[str]) -> list[str]:
    steps.clear()
    ensure(["venv"], root)
    return list(steps)


def test_the_environment_is_made_once(root: Path, steps: list[str]) -> None:
    assert again(root, steps) == ["environment", "packages", "seamark"]
    assert again(root, steps) == []


def test_a_changed_lock_makes_it_anew(root: Path, steps: list[str]) -> None:
    again(root, steps)
    (root / "requirements" / "dev.lock").write_text("one==2\n")
    assert again(root, steps) == ["environment", "packages", "seamark"]


def test_a_changed_project_is_installed_into_what_is_there(root: Path, steps: list[str]) -> None:
    again(root, steps)
    (root / "packages" / "a" / "pyproject.toml").write_text('[project]\nname = "x"\nscripts = {a = "b"}\n')
    assert again(root, steps) == ["seamark"]


def test_the_settings_of_a_linter_change_nothing(root: Path, steps: list[str]) -> None:
    again(root, steps)
    (root / "pyproject.toml").write_text("[tool.y]\nz = 2\n")
    assert again(root, steps) == []


def test_an_environment_that_was_moved_is_made_anew(root: Path, steps: list[str], tmp_path: Path) -> None:
    again(root, steps)
    moved = shutil.copytree(root, tmp_path / "moved")
    assert again(moved, steps) == ["environment", "packages", "seamark"]


def test_one_that_was_interrupted_is_made_anew(root: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(root: Path, python: Path, bar: Bar) -> None:
        raise Failed("no network")

    with monkeypatch.context() as patched:
        patched.setattr(setup, "_install_packages", breaks)
        assert setup.main(["venv"], root) == 2
    assert again(root, steps) == ["environment", "packages", "seamark"]


def test_a_part_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(Failed, match="there is no part x; there are venv, controlplane, system"):
        ensure(["x"], root)


@pytest.fixture
def system(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """A machine with root and apt-get, where `sh` is there and `nowhere` is not; the commands that were run."""
    commands: list[Sequence[str]] = []
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else which(name))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(setup, "_run", lambda command, environment: commands.append(command))
    (root / "tools").mkdir()
    (root / "tools" / "stages.toml").write_text('[system]\nsh = "dash"\nnowhere-to-be-found = "nowhere9"\n')
    return commands


def test_a_missing_program_is_installed_where_root_allows_it(root: Path, system: list[Sequence[str]]) -> None:
    ensure(["system"], root)
    assert [command[1] for command in system] == ["update", "install"]
    assert system[1][-1] == "nowhere9"
    assert "dash" not in system[1]


def test_programs_of_postgresql_are_found_where_debian_keeps_them(tmp_path: Path) -> None:
    for version in ("9", "15"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "nowhere-else").touch()
    assert setup.find_program("nowhere-else", tmp_path) == tmp_path / "15" / "bin" / "nowhere-else"
    assert setup.find_program("sh", tmp_path) is not None
    assert setup.find_program("nowhere-at-all", tmp_path) is None


def test_a_missing_program_is_named_where_root_does_not(
    root: Path, system: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Failed, match="this machine lacks nowhere9"):
        ensure(["system"], root)
    assert system == []


def test_on_a_terminal_progress_is_a_bar_that_is_overwritten() -> None:
    out = Terminal()
    bar = Bar(out)
    bar.show("packages", 0.5, "rich")
    bar.finish("packages: ready")
    assert out.getvalue() == "\r\x1b[Kpackages [############............]  50% rich\r\x1b[Kpackages: ready\n"


def test_elsewhere_progress_is_a_line_for_each_step() -> None:
    out = io.StringIO()
    bar = Bar(out)
    for done in (0.0, 0.5, 1.0):
        bar.show("packages", done)
    bar.show("control plane", 0.1, "etcd")
    assert out.getvalue() == "packages 0%\ncontrol plane 10% etcd\n"
