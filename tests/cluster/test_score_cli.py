"""`seamark score` on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from seamark.cli.score import app
from seamark.families.score.family import WORKLOAD
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.errors import UserError
from tests.cluster.requests import install
from tests.cluster.score_operator import Cluster

SCORE = """
apiVersion: score.dev/v1b1
metadata: {name: hello}
containers:
  main:
    image: nginx:1.27
    files: {/etc/motd: {source: motd}}
service: {ports: {web: {port: 80, targetPort: 8080}}}
resources: {db: {type: postgres, id: shared}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "motd").write_text("welcome")
    path = tmp_path / "score.yaml"
    path.write_text(SCORE)
    return path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_score_file_becomes_a_workload_and_is_changed_by_another_apply(
    control_plane: ControlPlane, namespace: str, file: Path
) -> None:
    install(control_plane, WORKLOAD)
    cluster = Cluster(control_plane, namespace)
    kubeconfig = ("--kubeconfig", str(control_plane.kubeconfig_of("admin")))
    assert "hello is at generation 1" in run("apply", "-f", str(file), "-n", namespace, *kubeconfig)
    spec = cluster.get("workloads", "hello")["spec"]
    assert spec["service"] == {"ports": [{"name": "web", "port": 80, "targetPort": 8080, "protocol": "TCP"}]}
    assert spec["containers"]["main"]["files"] == [{"target": "/etc/motd", "content": "welcome"}]
    assert spec["resources"]["db"]["id"] == "shared"
    file.write_text(SCORE.replace("resources: {db: {type: postgres, id: shared}}", ""))
    assert "hello is at generation 2" in run("apply", "-f", str(file), "-n", namespace, *kubeconfig)
    assert "resources" not in cluster.get("workloads", "hello")["spec"]


def test_generate_prints_what_kubectl_takes(control_plane: ControlPlane, namespace: str, file: Path) -> None:
    install(control_plane, WORKLOAD)
    printed = run("generate", "-f", str(file), "-n", namespace)
    manifest = yaml.safe_load(printed)
    assert manifest["metadata"] == {"name": "hello", "namespace": namespace}
    (file.parent / "workload.yaml").write_text(printed)
    assert "created" in control_plane.kubectl("apply", "--validate=strict", "-f", str(file.parent / "workload.yaml"))


def test_a_namespace_that_the_file_does_not_agree_with_is_told(file: Path) -> None:
    file.write_text(SCORE.replace("{name: hello}", "{name: hello, namespace: here}"))
    with pytest.raises(UserError, match="of the namespace here, not there"):
        run("generate", "-f", str(file), "-n", "there")
