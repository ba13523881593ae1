"""A Pod's status, from facts."""

from __future__ import annotations

from typing import Any

import pytest

from seamark_cluster.kubelet.status import ContainerFacts, Ended, PodFacts, Runs, Waiting, judge
from tests.unit.cluster.kubelet.pods import pod

NOW = "2026-08-01T10:00:00Z"
RUNS = ContainerFacts(state=Runs(NOW), started=True, ready=True)
FAILED = Ended(3, NOW, NOW, "id")
DONE = Ended(0, NOW, NOW, "id")


def status_of(*containers: ContainerFacts, spec: dict[str, Any] | None = None, **facts: Any) -> dict[str, Any]:
    names = [f"c{number}" for number in range(len(containers))]
    subject = pod({"containers": [{"name": name, "image": "i"} for name in names], **(spec or {})}, generation=2)
    known = PodFacts(
        **{
            "address": "10.244.0.7",
            "node_address": "10.244.0.1",
            "started_at": NOW,
            "prepared": True,
            "initialized": True,
            "containers": dict(zip(names, containers, strict=True)),
            **facts,
        }
    )
    return judge(subject, known, (), NOW)


def condition(status: dict[str, Any], type_: str) -> tuple[str, str]:
    found = next(condition for condition in status["conditions"] if condition["type"] == type_)
    return found["status"], found.get("reason", "")


def test_a_pod_whose_containers_are_ready_is_running_and_ready() -> None:
    status = status_of(RUNS, RUNS)
    assert status["phase"] == "Running"
    assert (status["podIP"], status["podIPs"]) == ("10.244.0.7", [{"ip": "10.244.0.7"}])
    assert condition(status, "Ready") == ("True", "")
    assert {item["observedGeneration"] for item in status["conditions"]} == {2}
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": NOW}}


@pytest.mark.parametrize(
    ("containers", "facts", "phase"),
    [
        ((ContainerFacts(),), {}, "Pending"),
        ((ContainerFacts(Waiting("ErrImagePull")),), {}, "Pending"),
        ((RUNS, ContainerFacts(Waiting("ErrImagePull"))), {}, "Running"),
        ((ContainerFacts(Waiting("CrashLoopBackOff"), last=FAILED, restarts=2),), {}, "Running"),
        ((ContainerFacts(FAILED),), {}, "Running"),
        ((ContainerFacts(DONE),), {"finished": True}, "Succeeded"),
        ((ContainerFacts(DONE), ContainerFacts(FAILED)), {"finished": True}, "Failed"),
    ],
)
def test_the_phase_follows_from_the_containers(
    containers: tuple[ContainerFacts, ...], facts: dict[str, Any], phase: str
) -> None:
    assert status_of(*containers, **facts)["phase"] == phase


def test_containers_that_are_not_ready_are_named() -> None:
    status = status_of(RUNS, ContainerFacts(Runs(NOW), started=True))
    ready = next(item for item in status["conditions"] if item["type"] == "Ready")
    assert ready["message"] == "containers with unready status: [c1]"
    assert condition(status, "ContainersReady") == ("False", "ContainersNotReady")


def test_a_readiness_gate_holds_ready_back_but_not_containers_ready() -> None:
    status = status_of(RUNS, spec={"readinessGates": [{"conditionType": "example.com/lb"}]})
    assert condition(status, "Ready") == ("False", "ReadinessGatesNotReady")
    assert condition(status, "ContainersReady") == ("True", "")


def test_init_containers_that_have_not_ended_well_are_named() -> None:
    spec = {"initContainers": [{"name": "first", "image": "i"}]}
    status = status_of(ContainerFacts(), spec=spec, initialized=False)
    assert condition(status, "Initialized") == ("False", "ContainersNotInitialized")
    assert status["phase"] == "Pending"


def test_an_end_by_a_signal_has_the_code_that_a_shell_would_give() -> None:
    status = status_of(ContainerFacts(Ended(-9, NOW, NOW, "id")))
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["signal"], terminated["reason"]) == (137, 9, "Error")


def test_a_time_moves_only_when_a_condition_flips() -> None:
    subject = pod({"containers": [{"name": "c0", "image": "i"}]})
    facts = PodFacts(prepared=True, initialized=True, containers={"c0": RUNS})
    before = [
        {"type": "Ready", "status": "False", "lastTransitionTime": "old"},
        {"type": "Initialized", "status": "True", "lastTransitionTime": "old"},
    ]
    times = {each["type"]: each["lastTransitionTime"] for each in judge(subject, facts, before, NOW)["conditions"]}
    assert (times["Ready"], times["Initialized"]) == (NOW, "old")
