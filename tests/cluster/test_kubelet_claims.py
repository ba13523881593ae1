"""A claim that is bound to a directory of the machine: what a Pod writes there, the next one reads.

Claims are not bound here: they name their volume.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.kubelet_machine import Machine, python, running_machine
from tests.cluster.requests import eventually

SPACE = "kept"


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with running_machine() as one:
        one.namespace(SPACE)
        yield one


def volume(name: str, directory: Path) -> dict[str, Any]:
    """A directory of this machine."""
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": str(directory)}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(name: str, volume: str = "") -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    spec |= {"volumeName": volume} if volume else {}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def pod(name: str, code: str, claimed: str) -> dict[str, Any]:
    mounted = {"volumeMounts": [{"name": "state", "mountPath": "/var/lib/state"}]}
    return python(name, code, mounted, volumes=[{"name": "state", "persistentVolumeClaim": {"claimName": claimed}}])


def test_what_one_pod_writes_the_next_one_reads(machine: Machine, tmp_path: Path) -> None:
    machine.apply(claim("state", "one"), volume("one", tmp_path / "one"), namespace=SPACE)
    machine.apply(pod("writer", "open('/var/lib/state/a', 'w').write('kept')", "state"), namespace=SPACE)
    machine.ended(SPACE, "writer", 60)
    machine.plane.kubectl("delete", "pod", "writer", "-n", SPACE)
    assert (tmp_path / "one" / "a").read_text() == "kept"
    machine.apply(pod("reader", "print(open('/var/lib/state/a').read())", "state"), namespace=SPACE)
    assert machine.ended(SPACE, "reader", 60).strip() == "kept"


def test_a_pod_waits_for_its_claim_and_says_so(machine: Machine, tmp_path: Path) -> None:
    machine.apply(claim("late"), pod("waits", "print('here')", "late"), namespace=SPACE)

    def told() -> bool:
        return 'persistentvolumeclaim "late" is not bound' in machine.plane.kubectl("get", "events", "-n", SPACE)

    eventually(told, "an event reports it", 60)
    machine.apply(volume("two", tmp_path / "two"), claim("late", "two"), namespace=SPACE)
    assert machine.ended(SPACE, "waits", 60).strip() == "here"
