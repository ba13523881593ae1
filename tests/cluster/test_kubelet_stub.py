"""A thousand Pods without processes: what they cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.kubelet_machine import Machine, a_pod, interfaces, running_machine, seconds_until_ready
from tests.cluster.requests import eventually, request

PODS = 1000


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with running_machine("--stub") as one:
        yield one


def used(pid: int) -> tuple[float, float]:
    """Memory in MB and processor seconds of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    memory = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return memory / 1024, (int(times[11]) + int(times[12])) / 100


def test_a_thousand_pods_without_processes(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    space = machine.namespace("many")
    manifests = [a_pod(f"stub-{number}", {"image": "any/image"}) for number in range(PODS)]
    before, _ = used(machine.kubelet.pid)
    began = time.monotonic()
    asyncio.run(seconds_until_ready(machine.plane, space, manifests, at_once=64))
    took = time.monotonic() - began
    memory, processor = used(machine.kubelet.pid)
    pods = machine.get(f"/api/v1/namespaces/{space}/pods")["items"]
    assert len({pod["status"]["podIP"] for pod in pods}) == PODS
    assert interfaces() == []
    with capsys.disabled():
        grown = f"{memory:.0f} MB ({memory - before:.0f} MB more), {processor:.1f} s of processor time"
        print(f"\n{PODS} Pods without processes: ready in {took:.1f} s; the kubelet has {grown}")  # noqa: T201
    assert memory - before < 100
    request(machine.plane, "DELETE", f"/api/v1/namespaces/{space}")
    gone = f"/api/v1/namespaces/{space}"
    eventually(lambda: request(machine.plane, "GET", gone).code == 404, "the namespace is gone", 120)
