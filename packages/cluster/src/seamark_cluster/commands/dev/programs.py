"""The programs that run beside the operator as Pods: the agent, with endpoints at the edge, and the forwarder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import seamark
import seamark_edge
import seamark_runtime
from seamark_cluster.kubelet.images import Image

NAMESPACE = "seamark-system"
AGENT, FORWARDER = "seamark.dev/agent:dev", "seamark.dev/forwarder:dev"
FORWARDERS = {"app.kubernetes.io/component": "bindings-forwarder"}


SOURCES = os.pathsep.join(str(Path(package.__path__[0]).parent) for package in (seamark, seamark_edge, seamark_runtime))


def _started(module: str) -> Image:
    environment = {"PYTHONPATH": SOURCES, "PYTHONUNBUFFERED": "1"}
    return Image(command=("{python}", "-c", f"from {module} import app; app()"), env=environment)


IMAGES = {AGENT: _started("seamark.cli.agent"), FORWARDER: _started("seamark.cli.forwarder")}


def manifests(agent: Mapping[str, str], forwarder: Mapping[str, str]) -> list[dict[str, Any]]:
    """The namespace and the two Deployments, each with its settings as environment variables."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        deployment("seamark-agent", AGENT, {"app.kubernetes.io/component": "agent"}, agent),
        deployment("seamark-forwarder", FORWARDER, FORWARDERS, forwarder),
    ]


def deployment(name: str, image: str, labels: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, Any]:
    """With hostNetwork: the API server, the edge and all Services have the same addresses as for the operator."""
    container = {
        "name": "main",
        "image": image,
        "env": [{"name": variable, "value": value} for variable, value in sorted(variables.items())],
    }
    template = {
        "metadata": {"labels": dict(labels)},
        "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": 1, "selector": {"matchLabels": dict(labels)}, "template": template},
    }
