"""The STATUS column of `kubectl get pods`: one word for all containers of a Pod."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from seamark_cluster.server.columns import AGE, Column, Json, age, at, joined


def _statuses(obj: Json, part: str = "containerStatuses") -> list[Json]:
    found: list[Json] = obj.get("status", {}).get(part) or []
    return found


def _ready(obj: Json, _now: datetime) -> str:
    ready = sum(bool(status.get("ready")) for status in _statuses(obj))
    return f"{ready}/{len(obj.get('spec', {}).get('containers') or ())}"


def _status(obj: Json, _now: datetime) -> str:
    status = obj.get("status", {})
    if "deletionTimestamp" in obj["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    if first := _initialising(obj):
        return first
    text = str(status.get("reason") or status.get("phase") or "Pending")
    runs = False
    for item in reversed(_statuses(obj)):
        text = _of(item) or text
        runs = runs or bool("running" in (item.get("state") or {}) and item.get("ready"))
    if text == "Completed" and runs:
        ready = any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in status.get("conditions") or ()
        )
        return "Running" if ready else "NotReady"
    return text


def _of(container: Json) -> str:
    """Why a container does not run; empty if it does, or nothing is known."""
    state: Json = container.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    if waiting.get("reason"):
        return str(waiting["reason"])
    if ended is None:
        return ""
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _initialising(obj: Json) -> str:
    """Progress of the init containers; empty when they are done."""
    wanted = {container["name"]: container for container in obj.get("spec", {}).get("initContainers") or ()}
    for place, status in enumerate(_statuses(obj, "initContainerStatuses")):
        state: Json = status.get("state") or {}
        ended = state.get("terminated")
        stays = wanted.get(status["name"], {}).get("restartPolicy") == "Always"
        if (ended is not None and ended.get("exitCode", 0) == 0) or (stays and status.get("started")):
            continue
        reason = _of(status)
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{place}/{len(wanted)}"
    return ""


def _restarts(obj: Json, now: datetime) -> str:
    every = [*_statuses(obj), *_statuses(obj, "initContainerStatuses")]
    total = sum(item.get("restartCount", 0) for item in every)
    ends: list[Any] = [((entry.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for entry in every]
    last = max((end for end in ends if end), default=None)
    return f"{total} ({age(last, now)} ago)" if total and last else str(total)


def _gates(obj: Json, _now: datetime) -> str:
    gates = [item["conditionType"] for item in obj.get("spec", {}).get("readinessGates") or ()]
    met = {
        condition["type"]
        for condition in obj.get("status", {}).get("conditions") or ()
        if condition["status"] == "True"
    }
    return f"{sum(gate in met for gate in gates)}/{len(gates)}" if gates else "<none>"


POD: tuple[Column, ...] = (
    Column("Ready", _ready),
    Column("Status", _status),
    Column("Restarts", _restarts),
    AGE,
    Column("IP", joined(".status.podIPs[*].ip"), priority=1),
    Column("Node", at(".spec.nodeName"), priority=1),
    Column("Nominated Node", at(".status.nominatedNodeName"), priority=1),
    Column("Readiness Gates", _gates, priority=1),
)
