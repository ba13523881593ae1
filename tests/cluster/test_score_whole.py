"""From a Score file to an endpoint that answers: a real control plane, Pods that really run, Services that route."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seamark.cli.score import app
from seamark.families.score.family import CRDS, Attempt, runtime_controllers, without_runtime
from seamark.families.score.model.options import Options
from seamark.families.score.remote import accepts, answers
from seamark.families.score.workloadexposure.state import Dial, Lookup, Probe
from seamark_runtime.resolver import Resolver
from tests.cluster.kubelet_machine import ECHO, Machine, killed_again_and_again, python, running_machine
from tests.cluster.requests import install
from tests.cluster.score_operator import Cluster, running

SCORE_FILE = f"""
apiVersion: score.dev/v1b1
metadata: {{name: hello}}
containers:
  main:
    image: {ECHO}
    variables: {{GREETING: "from ${{metadata.name}} by ${{resources.keys.word}}"}}
    readinessProbe: {{httpGet: {{path: /healthz, port: 3000}}}}
service: {{ports: {{web: {{port: 80, targetPort: 3000}}}}}}
resources: {{keys: {{type: secret, params: {{name: words}}}}}}
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with running_machine("--backoff=20") as one:
        yield one


def attempts(machine: Machine) -> Attempt:
    """Real attempts. The cluster's DNS is for Pods, and this is none: the API server tells what it would say."""

    async def attempt(action: Probe | Lookup | Dial) -> bool:
        if isinstance(action, Dial):
            return await accepts(action)
        assert isinstance(action, Probe)
        name, namespace, *_ = action.host.split(".")
        service = await asyncio.to_thread(machine.get, f"/api/v1/namespaces/{namespace}/services/{name}")
        return await answers(replace(action, host=service["spec"]["clusterIP"]))

    return attempt


def top(cluster: Cluster) -> dict[str, Any]:
    (entry,) = cluster.get("workloadexposures", "hello")["status"]["exposures"]
    return dict(entry)


def test_a_score_file_becomes_an_endpoint_that_answers(machine: Machine, tmp_path: Path) -> None:
    plane = machine.plane
    for crd in CRDS:
        install(plane, crd)
    space = machine.namespace("demo")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "words"}, "stringData": {"word": "hunter2"}}
    machine.apply(secret, namespace=space)
    (tmp_path / "score.yaml").write_text(SCORE_FILE)
    cluster = Cluster(plane, space)
    with running(
        plane, (*without_runtime(), *runtime_controllers(Options(inside=True), Resolver(), attempt=attempts(machine)))
    ):
        arguments = ["apply", "-f", str(tmp_path / "score.yaml"), "-n", space, "--kubeconfig", str(plane.kubeconfig)]
        applied = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert applied.exit_code == 0, applied.output
        cluster.until_condition("Ready", "True", "Succeeded", "hello")
        endpoint = cluster.endpoint("hello")
        assert endpoint == f"http://hello.{space}.svc.cluster.local:80"
        code = f"import urllib.request as r; print(r.urlopen('{endpoint}/hi', timeout=5).read().decode())"
        machine.apply(python("client", code), namespace=space)
        assert json.loads(machine.ended(space, "client"))["path"] == "/hi"
        deployment = machine.get(f"/apis/apps/v1/namespaces/{space}/deployments/hello")
        assert "hunter2" not in json.dumps([deployment, cluster.get("workloadplans", "hello")])
        cluster.until(lambda: top(cluster).get("reachable") is True, "it was tried, and answered")
        with killed_again_and_again("GREETING=from hello by hunter2"):
            cluster.until_condition("RuntimeReady", "False", "RuntimeDegraded", "hello")
            cluster.until(lambda: top(cluster).get("reachable") is False, "nobody answers")
        assert cluster.endpoint("hello") == endpoint
        cluster.until_condition("Ready", "True", "Succeeded", "hello", seconds=90)
        cluster.until(lambda: top(cluster).get("reachable") is True, "it answers again", seconds=60)
