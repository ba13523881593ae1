"""Every command of the front door can be had, and costs nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from seamark.cli.main import COMMANDS, loaded


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_command_is_there_and_says_what_it_is_for(name: str) -> None:
    command = loaded(name)
    assert command.name == name
    assert command.help


def test_a_command_imports_nothing_of_the_others() -> None:
    program = "import sys; from seamark.cli.main import main; sys.exit('seamark.families' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
