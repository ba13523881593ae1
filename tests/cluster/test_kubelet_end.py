"""However a kubelet ends, it leaves nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.kubelet_machine import (
    Machine,
    a_pod,
    condition,
    interfaces,
    processes,
    running_machine,
)
from tests.cluster.requests import eventually

NAMES = ("one", "two")


@pytest.fixture
def machine() -> Iterator[Machine]:
    with running_machine() as one:
        one.namespace("busy")
        one.apply(*(a_pod(name, {"env": [{"name": "MARK", "value": "busy-pod"}]}) for name in NAMES), namespace="busy")
        eventually(lambda: all(one.ready("busy", name) for name in NAMES), "both are ready")
        yield one


def directories(machine: Machine) -> list[Path]:
    return list(machine.log.parent.glob("seamark-kubelet-*"))


def test_a_kubelet_that_is_told_to_stop_ends_its_pods_and_says_so(machine: Machine) -> None:
    assert len(processes("MARK=busy-pod")) == 2
    assert len(directories(machine)) == 1
    machine.kubelet.terminate()
    assert machine.kubelet.wait(20) == 0
    assert processes("MARK=busy-pod") == []
    eventually(lambda: interfaces() == [], "no interface is left")
    assert directories(machine) == []
    assert condition(machine.get("/api/v1/nodes/seamark"), "Ready") == "False"


def test_a_kubelet_that_is_killed_takes_its_pods_with_it_and_the_next_runs_them_again(machine: Machine) -> None:
    machine.kubelet.send_signal(signal.SIGKILL)
    machine.kubelet.wait(20)
    eventually(lambda: processes("MARK=busy-pod") == [], "no process is left")
    eventually(lambda: interfaces() == [], "no interface is left")
    addresses = [machine.pod("busy", name)["status"]["podIP"] for name in NAMES]
    machine.start()

    def again() -> bool:
        pods = [machine.pod("busy", name)["status"] for name in NAMES]
        return all(pod["containerStatuses"][0]["restartCount"] == 1 for pod in pods) and all(
            machine.ready("busy", name) for name in NAMES
        )

    eventually(again, "the next kubelet runs them again")
    assert [machine.pod("busy", name)["status"]["podIP"] for name in NAMES] == addresses
    assert len(directories(machine)) == 1  # the first one's went
