"""Pods that run, Services that route and names, on the embedded cluster; the same is asked of the real one."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from seamark_cluster.network.closed import ClosedNetwork
from seamark_cluster.server.cluster import with_node
from tests.cluster.embedded_cluster import running_cluster
from tests.cluster.kubelet_machine import a_pod, echo_deployment, processes, python, running_machine
from tests.cluster.requests import eventually

Kubectl = Callable[..., str]

ASK = """
import json, urllib.request
names = {json.load(urllib.request.urlopen(f'http://{host}/', timeout=10))['pod'] for host in ['web', 'web.shop'] * 6}
print(len(names))
"""


@contextmanager
def embedded(directory: Path) -> Iterator[Kubectl]:
    with ClosedNetwork() as network:
        settings = dataclasses.replace(with_node("bridge"), host=network.node)
        with running_cluster(directory, settings) as running:
            yield running.output


@contextmanager
def real(_directory: Path) -> Iterator[Kubectl]:
    with running_machine() as machine:
        yield machine.plane.kubectl


@pytest.fixture(params=[embedded, real], ids=["embedded", "real"])
def kubectl(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kubectl]:
    with request.param(tmp_path) as output:
        output("create", "namespace", "shop")
        eventually(lambda: "default" in output("get", "sa", "-n", "shop", "-o", "name"), "an account")
        yield output


def apply(kubectl: Kubectl, *documents: dict[str, Any]) -> None:
    kubectl("apply", "-n", "shop", "-f", "-", stdin=yaml.safe_dump_all(documents))


def listed(kubectl: Kubectl, *what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kubectl("get", "-n", "shop", *what, "-o", "json"))["items"]
    return found


def endpoints(kubectl: Kubectl, service: str) -> set[str]:
    """The names of the Pods that are ready behind a Service."""
    slices = listed(kubectl, "endpointslices", "-l", f"kubernetes.io/service-name={service}")
    each = [one for found in slices for one in found["endpoints"] or ()]
    return {one["targetRef"]["name"] for one in each if one["conditions"]["ready"]}


def test_three_echo_pods_answer_by_name_from_another_pod(kubectl: Kubectl) -> None:
    apply(kubectl, *echo_deployment("web"))
    kubectl("rollout", "status", "-n", "shop", "deployment/web", "--timeout=60s")
    eventually(lambda: len(endpoints(kubectl, "web")) == 3, "three endpoints")
    apply(kubectl, python("asks", ASK))
    kubectl("wait", "-n", "shop", "pod/asks", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    assert kubectl("logs", "-n", "shop", "asks").strip() == "3"


def test_a_killed_process_comes_again_and_the_endpoints_follow(kubectl: Kubectl) -> None:
    apply(kubectl, *echo_deployment("web", 2))
    kubectl("rollout", "status", "-n", "shop", "deployment/web", "--timeout=60s")
    eventually(lambda: len(endpoints(kubectl, "web")) == 2, "two endpoints")
    victim = sorted(endpoints(kubectl, "web"))[0]
    seen: list[set[str]] = []

    def restarted() -> bool:
        seen.append(endpoints(kubectl, "web"))
        pod = json.loads(kubectl("get", "-n", "shop", "pod", victim, "-o", "json"))
        return bool(pod["status"]["containerStatuses"][0]["restartCount"])

    for number in processes(f"POD_NAME={victim}"):
        os.kill(number, signal.SIGKILL)
    eventually(restarted, "it is started again")
    eventually(lambda: len(endpoints(kubectl, "web")) == 2, "two endpoints again")


def test_a_deleted_namespace_leaves_nothing(kubectl: Kubectl) -> None:
    apply(kubectl, *echo_deployment("web"), a_pod("alone", {}))
    kubectl("rollout", "status", "-n", "shop", "deployment/web", "--timeout=60s")
    names = [pod["metadata"]["name"] for pod in listed(kubectl, "pods")]
    assert len(names) == 4
    kubectl("delete", "namespace", "shop", "--timeout=90s")
    assert "shop" not in kubectl("get", "namespaces", "-o", "name")
    assert "items" in kubectl("get", "pods,deployments,replicasets,services,endpointslices", "-A", "-o", "json")
    left = json.loads(kubectl("get", "pods,deployments,replicasets,endpointslices", "-A", "-o", "json"))["items"]
    assert [one["metadata"]["name"] for one in left if one["metadata"].get("namespace") == "shop"] == []
    assert [number for name in names for number in processes(f"POD_NAME={name}")] == []


def test_a_stateful_set_has_names_of_its_own(kubectl: Kubectl) -> None:
    names = "'db-1.db', 'db-1.db.shop.svc.cluster.local'"
    ask = f"import socket; print(len({{socket.gethostbyname(name) for name in ({names})}}))"
    container = {"name": "main", "image": "seamark.dev/echo", "ports": [{"containerPort": 3000}]}
    template = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }
    spec = {"serviceName": "db", "replicas": 2, "selector": {"matchLabels": {"app": "db"}}, "template": template}
    service = {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 3000}]}
    apply(
        kubectl,
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"}, "spec": service},
    )
    kubectl("rollout", "status", "-n", "shop", "statefulset/db", "--timeout=60s")
    eventually(lambda: endpoints(kubectl, "db") == {"db-0", "db-1"}, "both are behind the Service")
    apply(kubectl, python("asks", ask))
    kubectl("wait", "-n", "shop", "pod/asks", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    assert kubectl("logs", "-n", "shop", "asks").strip() == "1"
