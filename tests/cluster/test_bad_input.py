"""What a person gets wrong about a cluster is one line with the next step, and exit code 2: for every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seamark.cli.families import FAMILIES
from seamark.cli.main import main
from seamark_cluster.server.cluster import ClusterSettings
from seamark_runtime.api.crd import manifests
from tests.cluster.embedded_cluster import USERS, Running, running_cluster

SCORE = "apiVersion: score.dev/v1b1\nmetadata: {name: hello}\ncontainers: {main: {image: nginx}}\n"
ENDING = {  # commands that end by themselves
    "explain": "explain workload/hello",
    "status": "status",
    "watch": "watch",
    "dns plan": "dns plan",
    "dns sync": "dns sync",
    "score apply": "score apply -f score.yaml",
    "gateway crds": "gateway crds --install",
}
STAYING = {  # and those that stay: what may still come, rights and kinds, they wait for
    "run": "run --families sample",
    "dns run": "dns run",
    "console": "console --address 127.0.0.1:0",
    "agent": "agent --server 127.0.0.1:1 --token-file token --cluster",
    "forwarder": "forwarder",
    "kubelet": "cluster kubelet --network loopback",
}
EVERY = {**ENDING, **STAYING}
Line = Callable[..., str]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A cluster with none of our kinds."""
    with running_cluster(tmp_path_factory.mktemp("bare"), ClusterSettings(users=USERS)) as running:
        yield running


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A cluster with our kinds, and people who may do nothing."""
    with running_cluster(tmp_path_factory.mktemp("installed"), ClusterSettings(users=USERS)) as running:
        running.output("apply", "-f", "-", stdin=manifests([crd for one in FAMILIES.values() for crd in one.crds]))
        yield running


@pytest.fixture
def line_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Line:
    """Runs a command with a kubeconfig; gives its one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEAMARK_HEALTH_ADDRESS", "")
    monkeypatch.setenv("SEAMARK_DNS_PROVIDER", "memory")
    monkeypatch.setenv("SEAMARK_DNS_ZONES", "example.test")
    (tmp_path / "score.yaml").write_text(SCORE)
    (tmp_path / "token").write_text("token")

    def run(command: str, kubeconfig: Path, *more: str) -> str:
        monkeypatch.setattr("sys.argv", ["seamark", *command.split(), "--kubeconfig", str(kubeconfig), *more])
        with pytest.raises(SystemExit) as ended:
            main()
        lines = capsys.readouterr().err.splitlines()
        assert (ended.value.code, len(lines)) == (2, 1), lines
        assert lines[0].startswith("seamark: ")
        return lines[0]

    return run


def changed(kubeconfig: Path, to: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    content = yaml.safe_load(kubeconfig.read_text())
    change(content)
    to.write_text(json.dumps(content))
    return to


@pytest.mark.parametrize("command", EVERY.values(), ids=list(EVERY))
def test_a_kubeconfig_that_leads_nowhere(command: str, line_of: Line, bare: Running, tmp_path: Path) -> None:
    good = bare.cluster.kubeconfig
    assert "no kubeconfig at" in line_of(command, tmp_path / "nowhere")
    (tmp_path / "broken").write_text("clusters: [\n")
    assert "check that it is valid YAML" in line_of(command, tmp_path / "broken")
    if command != STAYING["kubelet"]:  # it has no --context
        assert "its contexts are: admin" in line_of(command, good, "--context", "nobody")

    def down(content: dict[str, Any]) -> None:
        content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"

    def stranger(content: dict[str, Any]) -> None:
        for user in content["users"]:
            user["user"] = {"token": "nonsense"}

    gone = line_of(command, changed(good, tmp_path / "gone", down))
    assert "127.0.0.1:1" in gone
    unknown = line_of(command, changed(good, tmp_path / "stranger", stranger))
    assert "401" in unknown or "Unauthorized" in unknown, unknown


@pytest.mark.parametrize("command", [ENDING[one] for one in ENDING if one != "gateway crds"])
def test_a_cluster_without_our_kinds(command: str, line_of: Line, bare: Running) -> None:
    assert "seamark crds | kubectl apply" in line_of(command, bare.cluster.kubeconfig)


@pytest.mark.parametrize("command", ENDING.values(), ids=list(ENDING))
def test_a_person_without_rights(command: str, line_of: Line, installed: Running) -> None:
    words = line_of(command, installed.cluster.kubeconfig, "--context", "alice")
    assert "may not" in words or "cannot" in words or "are you allowed" in words, words


@pytest.mark.parametrize(
    ("command", "words", "next_step"),
    [
        ("explain unicorn/web", "there is no kind 'unicorn'", "there are"),
        ("explain workload/nobody", "there is no Workload default/nobody", "kubectl get workloads -A"),
        ("explain workload", "names no object", "KIND/NAME"),
        ("explain service/a/b", "names no object", "KIND/NAME"),
        ("score apply -f score.yaml -n nowhere", 'namespaces "nowhere" not found', "create it first"),
        ("run --families unicorns", "there is no family 'unicorns'", "there are sample"),
        ("run --families sample", "there is no namespace seamark-system", "kubectl create namespace seamark-system"),
    ],
)
def test_an_unknown_kind_or_name(command: str, words: str, next_step: str, line_of: Line, installed: Running) -> None:
    line = line_of(command, installed.cluster.kubeconfig)
    assert words in line
    assert next_step in line
