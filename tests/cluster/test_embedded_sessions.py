"""Commands in Pods of the embedded cluster, and the directories that its claims are bound to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seamark_cluster.server.cluster import with_node
from tests.cluster.embedded_cluster import Running, running_cluster
from tests.cluster.requests import eventually

STAY = ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Running]:
    with running_cluster(tmp_path, with_node("loopback")) as running:
        eventually(lambda: "default" in running.output("get", "sa", "-o", "name"), "an account")
        yield running


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "seamark.dev/echo", "command": STAY, "env": [{"name": "A", "value": "b c"}]}
    container |= spec.pop("container", {})
    spec = {"containers": [container], "terminationGracePeriodSeconds": 2, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def with_claim(name: str) -> dict[str, Any]:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    mounted = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    return pod(name, volumes=[volume], container={**mounted, "env": [{"name": "FOLDER", "value": "/data"}]})


def run(cluster: Running, *documents: dict[str, Any]) -> None:
    cluster.output("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
    for document in documents:
        if document["kind"] == "Pod":
            cluster.output("wait", f"pod/{document['metadata']['name']}", "--for=condition=Ready", "--timeout=30s")


def test_a_command_runs_in_a_container_with_its_output_and_its_exit_code(cluster: Running) -> None:
    run(cluster, pod("one"))
    assert cluster.output("exec", "one", "--", "sh", "-c", 'echo "$A"') == "b c\n"
    assert cluster.output("exec", "-i", "one", "--", "cat", stdin="by input") == "by input"
    failed = cluster.kubectl("exec", "one", "--", "sh", "-c", "echo wrong >&2; exit 3")
    assert (failed.returncode, "wrong\n" in failed.stderr) == (3, True)
    absent = cluster.kubectl("exec", "two", "--", "true")
    assert (absent.returncode, 'pods "two" not found' in absent.stderr) == (1, True)


def test_only_who_may_create_sessions_runs_commands(cluster: Running) -> None:
    run(cluster, pod("one"))
    refused = cluster.kubectl("--as", "alice", "exec", "one", "--", "true")
    assert refused.returncode == 1
    assert "forbidden" in refused.stderr.lower()


def test_a_claim_keeps_its_data_as_long_as_it_is_there(cluster: Running) -> None:
    run(cluster, claim("data"), with_claim("one"))
    cluster.output("exec", "one", "--", "sh", "-c", 'echo kept > "$FOLDER/file"')
    cluster.output("delete", "pod", "one", "--timeout=20s")
    run(cluster, with_claim("two"))
    assert cluster.output("exec", "two", "--", "sh", "-c", 'cat "$FOLDER/file"') == "kept\n"
    found = json.loads(cluster.output("get", "pvc", "data", "-o", "json"))
    assert (found["status"]["phase"], found["status"]["capacity"]) == ("Bound", {"storage": "1Mi"})


def test_a_deleted_claim_goes_when_no_pod_uses_it_any_more(cluster: Running) -> None:
    run(cluster, claim("data"), with_claim("one"))
    cluster.output("exec", "one", "--", "sh", "-c", 'echo old > "$FOLDER/file"')
    cluster.output("delete", "pvc", "data", "--wait=false")
    assert cluster.output("exec", "one", "--", "sh", "-c", 'cat "$FOLDER/file"') == "old\n"
    cluster.output("delete", "pod", "one", "--timeout=20s")
    eventually(lambda: not cluster.output("get", "pvc", "-o", "name"), "the end of the claim")
    run(cluster, claim("data"), with_claim("two"))
    assert cluster.output("exec", "two", "--", "sh", "-c", 'ls "$FOLDER"') == ""
