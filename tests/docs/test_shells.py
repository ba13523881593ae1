"""Completion in zsh and fish, and the kubectl plugin; bash is in tests/unit/operator/cli."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seamark.cli.main import app
from seamark_cluster.real.binaries import find

LINES = {
    "seamark ex": ["explain"],
    "seamark cluster k": ["kubeconfig", "kubelet"],
    "seamark explain --namespace shop --ver": ["--verbose"],
    "kubectl-seamark sta": ["status"],
}
ZSH = """
compdef() { :; }
_describe() { print -l -- "${found[@]%%:*}"; }
_files() { :; }
source SCRIPT
words=(WORDS)
CURRENT=${#words}
_seamark
"""


def script(shell: str, tmp_path: Path) -> Path:
    found = tmp_path / shell
    found.write_text(CliRunner().invoke(app, ["completion", shell], catch_exceptions=False).output)
    return found


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is not installed; see [system] in tools/stages.toml"
    return found


@pytest.mark.parametrize("line", LINES)
def test_fish_completes(line: str, tmp_path: Path) -> None:
    asking = f"source {script('fish', tmp_path)}; complete -C '{line}'"
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([program("fish"), "-c", asking], capture_output=True, text=True, env=environment, check=True)
    offered = [one.split("\t")[0] for one in done.stdout.splitlines()]
    assert [one for one in offered if one.startswith(line.rsplit(maxsplit=1)[-1])] == LINES[line]


@pytest.mark.parametrize("line", LINES)
def test_zsh_completes(line: str, tmp_path: Path) -> None:
    """Zsh's own part, the menu, is faked: the candidates that it would get count."""
    asking = ZSH.replace("SCRIPT", str(script("zsh", tmp_path))).replace("WORDS", line)
    done = subprocess.run([program("zsh"), "-f", "-c", asking], capture_output=True, text=True, check=True)
    assert [one for one in done.stdout.splitlines() if one.startswith(line.rsplit(maxsplit=1)[-1])] == LINES[line]


def kubectl(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With our programs on its path, as pip installs them."""
    for name, start in (("kubectl-seamark", "main:main"), ("kubectl_complete-seamark", "completion:for_kubectl")):
        module, _, function = start.partition(":")
        text = f"#!{sys.executable}\nfrom seamark.cli.{module} import {function}\n{function}()\n"
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [str(find().kubectl), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_kubectl_runs_us_as_its_plugin(tmp_path: Path) -> None:
    assert "kubectl seamark [OPTIONS] COMMAND" in kubectl(tmp_path, "seamark", "--help").stdout
    done = kubectl(tmp_path, "seamark", "explain", "svc/web", "--kubeconfig", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"seamark: no kubeconfig at {tmp_path / 'nowhere'}")
    assert "kubectl-seamark" in kubectl(tmp_path, "plugin", "list").stdout


def test_kubectl_completes_its_plugin(tmp_path: Path) -> None:
    offered = kubectl(tmp_path, "__complete", "seamark", "cluster", "ku").stdout.splitlines()
    assert [one.split("\t")[0] for one in offered] == ["kubeconfig", "kubelet", ":4"]


def test_every_way_in_is_a_program_of_the_package() -> None:
    text = (Path(__file__).parents[2] / "packages" / "operator" / "pyproject.toml").read_text()
    for line in ('seamark = "seamark.cli.main:main"', 'kubectl-seamark = "seamark.cli.main:main"'):
        assert f"\n{line}" in text
    assert '\nkubectl_complete-seamark = "seamark.cli.completion:for_kubectl"' in text
