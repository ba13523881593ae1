"""Completion, in a real bash."""

from __future__ import annotations

import subprocess

import pytest
from typer.testing import CliRunner

from seamark.cli import completion
from seamark.cli.main import app
from seamark_runtime.errors import UserError


@pytest.fixture(scope="module")
def script() -> str:
    return CliRunner().invoke(app, ["completion", "bash"], catch_exceptions=False).output


def completed(script: str, line: str) -> list[str]:
    """What bash offers where the line ends."""
    asking = f"""
{script}
COMP_WORDS=({line.replace(" ", "' '").join("''")})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
compopt() {{ :; }}
_seamark
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-u", "-c", asking], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("seamark ex", ["explain"]),
        ("seamark c", ["cluster", "completion", "console", "crds"]),
        ("seamark cluster k", ["kubeconfig", "kubelet"]),
        ("seamark explain bo", ["boundendpoint/"]),
        ("seamark explain --namespace shop --ver", ["--verbose"]),
        ("seamark cluster up --name x --u", ["--user"]),
        ("kubectl-seamark sta", ["status"]),
        ("seamark nonsense", []),
    ],
)
def test_bash_completes(script: str, line: str, offered: list[str]) -> None:
    assert completed(script, line) == offered


def test_an_empty_word_offers_every_command(script: str) -> None:
    offered = completed(script, "seamark ")
    assert {"run", "dev", "edge", "agent", "explain", "status", "--version"} <= set(offered)


def test_a_shell_that_nobody_knows_is_told_in_one_line() -> None:
    with pytest.raises(UserError, match="there is no completion for 'tcsh': there are bash, zsh, fish"):
        CliRunner().invoke(app, ["completion", "tcsh"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["cluster", "u"], ["up\tStart etcd, kube-apiserver and kube-controller-manager."]),
        (["explain", "svc/web", "--namesp"], ["--namespace\tIts namespace."]),
        (["nonsense"], []),
    ],
)
def test_kubectl_is_told_in_its_own_protocol(
    words: list[str], offered: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-seamark", *words])
    completion.for_kubectl()
    assert capsys.readouterr().out.splitlines() == [*offered, ":4"]
