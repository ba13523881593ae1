"""Every command can be loaded, and costs nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from seamark.cli.main import COMMANDS, DEVELOPER, loaded, plugins


@pytest.mark.parametrize("name", [*COMMANDS, *DEVELOPER])
def test_a_command_is_there_and_says_what_it_is_for(name: str) -> None:
    command = loaded(name, {**COMMANDS, **plugins()}[name])
    assert command.name == name
    assert command.help


def test_a_command_imports_nothing_of_the_others() -> None:
    program = "import sys; from seamark.cli.main import main; sys.exit('seamark.families' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_run_names_the_families_if_none_is_given() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "seamark", "run"], capture_output=True, text=True, check=False, env={"PATH": ""}
    )
    assert done.returncode == 2
    assert done.stderr.startswith("seamark: no family is named: name some with --families NAME,NAME")
    assert "dns" in done.stderr
    assert "Traceback" not in done.stderr
