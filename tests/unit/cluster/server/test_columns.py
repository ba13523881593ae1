"""The columns of `kubectl get`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from seamark_cluster.server.columns import age
from seamark_cluster.server.kubectl_columns import BUILTIN

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def cell(kind: str, column: str, obj: dict[str, Any]) -> Any:
    return next(item for item in BUILTIN[kind] if item.name == column).cell(obj, NOW)


def a_pod(*states: dict[str, Any], phase: str = "Running", **status: Any) -> dict[str, Any]:
    containers = [
        {"name": f"c{number}", "state": state, "ready": "running" in state} for number, state in enumerate(states)
    ]
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": f"c{number}"} for number in range(len(states))]},
        "status": {"phase": phase, "containerStatuses": containers, **status},
    }


RUNS: dict[str, Any] = {"running": {}}
READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("pod", "text", "ready"),
    [
        (a_pod(RUNS), "Running", "1/1"),
        (a_pod({"waiting": {"reason": "ErrImagePull"}}, phase="Pending"), "ErrImagePull", "0/1"),
        (a_pod(RUNS, {"waiting": {"reason": "CrashLoopBackOff"}}), "CrashLoopBackOff", "1/2"),
        (a_pod({"terminated": {"exitCode": 3, "reason": "Error"}}, phase="Failed"), "Error", "0/1"),
        (a_pod({"terminated": {"exitCode": 3}}, phase="Failed"), "ExitCode:3", "0/1"),
        (a_pod({"terminated": {"exitCode": 137, "signal": 9}}, phase="Failed"), "Signal:9", "0/1"),
        (a_pod({"terminated": {"exitCode": 0, "reason": "Completed"}}, phase="Succeeded"), "Completed", "0/1"),
        (a_pod({"terminated": {"exitCode": 0, "reason": "Completed"}}, RUNS), "NotReady", "1/2"),
        (
            a_pod({"terminated": {"exitCode": 0, "reason": "Completed"}}, RUNS, conditions=READY),
            "Running",
            "1/2",
        ),
        (a_pod(phase="Failed", reason="Evicted"), "Evicted", "0/0"),
        ({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}, "Pending", "0/1"),
    ],
)
def test_a_pods_status_column_is_that_of_its_worst_container(pod: dict[str, Any], text: str, ready: str) -> None:
    assert cell("Pod", "Status", pod) == text
    assert cell("Pod", "Ready", pod) == ready


def test_a_terminating_or_initializing_pod_shows_that_first() -> None:
    going = a_pod(RUNS)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    assert cell("Pod", "Status", going) == "Terminating"
    begins = a_pod({"waiting": {"reason": "PodInitializing"}}, phase="Pending")
    begins["spec"]["initContainers"] = [{"name": "first"}, {"name": "second"}]
    for state, text in (
        ({"running": {}}, "Init:0/2"),
        ({"waiting": {"reason": "ErrImagePull"}}, "Init:ErrImagePull"),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error"),
    ):
        begins["status"]["initContainerStatuses"] = [{"name": "first", "state": state}]
        assert cell("Pod", "Status", begins) == text


def test_restarts_show_when_the_last_one_was() -> None:
    pod = a_pod(RUNS)
    assert cell("Pod", "Restarts", pod) == "0"
    ended = {"terminated": {"finishedAt": "2026-01-01T11:58:00Z"}}
    pod["status"]["containerStatuses"][0] |= {"restartCount": 2, "lastState": ended}
    assert cell("Pod", "Restarts", pod) == "2 (2m ago)"


def test_services_nodes_and_slices() -> None:
    service = {"spec": {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]}}
    assert cell("Service", "External-IP", service) == "<pending>"
    assert cell("Service", "Port(s)", service) == "80:30080/TCP"
    node = {"metadata": {}, "spec": {"unschedulable": True}, "status": {"conditions": READY}}
    assert cell("Node", "Status", node) == "Ready,SchedulingDisabled"
    many = {"endpoints": [{"addresses": [f"10.0.0.{number}"]} for number in range(5)]}
    assert cell("EndpointSlice", "Endpoints", many) == "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."


@pytest.mark.parametrize(
    ("stamp", "shown"),
    [
        ("2026-01-01T11:59:55Z", "5s"),
        ("2026-01-01T11:55:30Z", "4m30s"),
        ("2026-01-01T09:30:00Z", "150m"),
        ("2025-12-31T12:00:00Z", "24h"),
        ("2025-12-29T10:00:00Z", "3d2h"),
        ("2026-01-01T13:00:00Z", "0s"),
        (None, "<unknown>"),
        ("yesterday", "<invalid>"),
    ],
)
def test_ages_are_short(stamp: Any, shown: str) -> None:
    assert age(stamp, NOW) == shown
