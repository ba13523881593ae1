"""What the suite runs against: a control plane, the process kubelet, the operator with its Envoys, all shut in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seamark.gatewayapi.bundle import definitions
from seamark_cluster.network.closed import OUTSIDE
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.kubelet_machine import running_machine

OPERATOR = "from seamark.cli.main import main; main()"
CLASS = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "GatewayClass",
    "metadata": {"name": "kgateway"},
    "spec": {"controllerName": "kgateway.dev/kgateway"},
}


@dataclass
class Bench:
    plane: ControlPlane
    folder: Path
    log: Path


@contextmanager
def running(backend: Path, log: Path) -> Iterator[Bench]:
    """Everything up, and down again at the end."""
    idle = ["/bin/sh", "-c", "exec sleep infinity"]
    table = {
        "registry.k8s.io/gateway-api/echo-basic:*": {"command": [str(backend)]},
        "registry.k8s.io/coredns/coredns:*": {"command": idle},  # of the tests for UDP, which are not run
    }
    crds = definitions("experimental")  # while there is a way out
    with running_machine(table=table) as machine, tempfile.TemporaryDirectory() as folder:
        plane = machine.plane
        install(plane, crds)
        with operating(plane, log):
            yield Bench(plane, Path(folder), log)


def install(plane: ControlPlane, crds: list[dict[str, Any]]) -> None:
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(crds))
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    plane.restart_controllers()  # so that garbage collection knows the new kinds at once
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(CLASS))


@contextmanager
def operating(plane: ControlPlane, log: Path) -> Iterator[None]:
    environment = {**os.environ, "SEAMARK_GATEWAY_ADDRESSES": OUTSIDE, "SEAMARK_HEALTH_ADDRESS": ""}
    environment["SEAMARK_GATEWAY_STATE"] = "none"
    flags = ["--families", "gateway", "--kubeconfig", str(plane.kubeconfig), "--no-leader-election"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", OPERATOR, "run", *flags], stdout=out, stderr=out, env=environment
        )
    try:
        yield
        assert process.poll() is None, f"the operator ended: {log.read_text()[-2000:]}"
    finally:
        process.terminate()
        process.wait(30)
