"""The same kubectl commands on the embedded and on the real server say the same."""

from __future__ import annotations

import dataclasses
import difflib
import shutil
from pathlib import Path

import pytest

from seamark_cluster.network.closed import ClosedNetwork
from seamark_cluster.real.binaries import find
from seamark_cluster.real.users import User
from seamark_cluster.server.cluster import with_node
from tests.cluster.embedded_cluster import running_cluster
from tests.cluster.kubectl_script import STEPS, play
from tests.cluster.kubelet_machine import running_machine

ALICE = (User("alice"),)


def on_the_embedded(kubectl: str, directory: Path) -> list[str]:
    with ClosedNetwork() as network:
        settings = dataclasses.replace(with_node("bridge", users=ALICE), host=network.node)
        with running_cluster(directory, settings) as running:
            return play(kubectl, running.cluster.kubeconfig)


def on_the_real(kubectl: str) -> list[str]:
    with running_machine(users=ALICE) as machine:
        return play(kubectl, machine.plane.kubeconfig)


def differences(embedded: list[str], real: list[str]) -> str:
    found = []
    for step, ours, theirs in zip(STEPS, embedded, real, strict=True):
        if ours != theirs:
            lines = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "real", "embedded", lineterm="", n=0)
            found.append(f"$ kubectl {step.command}  (as {step.user})\n" + "\n".join(line[:300] for line in lines))
    return "\n\n".join(found)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the control plane's own kubectl receives from the embedded server."""
    return on_the_embedded(str(find().kubectl), tmp_path_factory.mktemp("ours"))


def test_every_command_says_the_same_on_both(ours: list[str]) -> None:
    told = differences(ours, on_the_real(str(find().kubectl)))
    assert len(STEPS) >= 60
    assert not told, told


def test_the_kubectl_that_is_installed_comes_to_the_same_ends(ours: list[str], tmp_path: Path) -> None:
    """Its words may be those of another version; whether a command succeeds may not differ."""
    installed = shutil.which("kubectl") or str(find().kubectl)
    theirs = on_the_embedded(installed, tmp_path)
    pairs = zip(STEPS, ours, theirs, strict=True)
    wrong = [f"{step.command}: {said}" for step, ended, said in pairs if ended.split("\n")[0] != said.split("\n")[0]]
    assert not wrong
