"""A Pod's status, from the facts about its containers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark_runtime.api.core import Container, Pod


@dataclass(frozen=True)
class Waiting:
    reason: str
    message: str = ""


@dataclass(frozen=True)
class Runs:
    started_at: str


@dataclass(frozen=True)
class Ended:
    code: int  # minus the signal's number if a signal ended it
    started_at: str
    finished_at: str
    id: str
    message: str = ""

    @property
    def exit_code(self) -> int:
        return 128 - self.code if self.code < 0 else self.code


CREATING = Waiting("ContainerCreating")
INITIALIZING = Waiting("PodInitializing")


@dataclass(frozen=True)
class ContainerFacts:
    state: Waiting | Runs | Ended = CREATING
    last: Ended | None = None
    restarts: int = 0
    started: bool = False  # runs, and its startup probe has succeeded
    ready: bool = False
    id: str = ""
    image: str = ""


@dataclass(frozen=True)
class PodFacts:
    """The facts about a Pod on this node. `finished`: none of its containers will run again."""

    address: str = ""
    node_address: str = ""
    started_at: str = ""
    prepared: bool = False  # it has its network and its files
    initialized: bool = False
    finished: bool = False
    containers: Mapping[str, ContainerFacts] = field(default_factory=dict)


def judge(pod: Pod, facts: PodFacts, written: Iterable[Mapping[str, Any]], now: str) -> dict[str, Any]:
    """The status document. `written` are the conditions as written: a transition time changes only with the status."""
    spec = pod.spec
    init = [(element, facts.containers.get(element.name, CREATED)) for element in spec.init_containers or ()]
    main = [(container, facts.containers.get(container.name, CREATED)) for container in spec.containers]
    phase = _phase(pod, facts, [known for _, known in main], [known for _, known in init])
    status: dict[str, Any] = {
        "phase": phase,
        "conditions": _stamped(pod, _conditions(pod, facts, phase, main, init), written, now),
        "hostIP": facts.node_address,
        "hostIPs": [{"ip": facts.node_address}],
        "startTime": facts.started_at,
        "containerStatuses": [container_status(item, known) for item, known in main],
    }
    if init:
        status["initContainerStatuses"] = [container_status(entry, known) for entry, known in init]
    if facts.address:
        status |= {"podIP": facts.address, "podIPs": [{"ip": facts.address}]}
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    return status


CREATED = ContainerFacts()


def _phase(pod: Pod, facts: PodFacts, main: list[ContainerFacts], init: list[ContainerFacts]) -> str:
    if facts.finished:
        return "Failed" if any(_failed(known) for known in (*main, *init)) else "Succeeded"
    if facts.initialized and any(isinstance(item.state, Runs | Ended) or item.last for item in main):
        return "Running"
    return "Pending"


def _failed(known: ContainerFacts) -> bool:
    return isinstance(known.state, Ended) and known.state.exit_code != 0


Row = tuple[str, bool, str, str]


def _conditions(
    pod: Pod,
    facts: PodFacts,
    phase: str,
    main: list[tuple[Container, ContainerFacts]],
    init: list[tuple[Container, ContainerFacts]],
) -> list[Row]:
    unready = [item.name for item, known in main if not known.ready]
    reason, message = "", ""
    if phase == "Succeeded":
        reason = "PodCompleted"
    elif phase == "Failed":
        reason = "PodFailed"
    elif unready:
        reason, message = "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    ok = not unready and not reason
    gates = [gate.condition_type for gate in pod.spec.readiness_gates or ()]
    failing = [gate for gate in gates if (condition := pod.condition(gate)) is None or condition.status != "True"]
    ready: Row = ("Ready", ok, reason, message)
    if ok and failing:
        detail = "; ".join(f'the status of pod readiness gate "{gate}" is not "True"' for gate in failing)
        ready = ("Ready", False, "ReadinessGatesNotReady", detail)
    waiting = [entry.name for entry, known in init if not (known.ready or _succeeded(known))]
    detail = f"containers with incomplete status: [{' '.join(waiting)}]"
    uninitialized = ("Initialized", False, "ContainersNotInitialized", detail)
    return [
        ("PodReadyToStartContainers", facts.prepared and not facts.finished, "", ""),
        ("Initialized", True, "", "") if facts.initialized or not init else uninitialized,
        ready,
        ("ContainersReady", ok, reason, message),
    ]


def _succeeded(known: ContainerFacts) -> bool:
    return isinstance(known.state, Ended) and known.state.exit_code == 0


def _stamped(pod: Pod, rows: list[Row], written: Iterable[Mapping[str, Any]], now: str) -> list[dict[str, Any]]:
    before = {condition["type"]: condition for condition in written}
    stamped = []
    for type_, ok, reason, message in rows:
        status = "True" if ok else "False"
        old = before.get(type_, {})
        time = old.get("lastTransitionTime") if old.get("status") == status else None
        entry: dict[str, Any] = {"type": type_, "status": status, "lastTransitionTime": time or now}
        if pod.metadata.generation:
            entry["observedGeneration"] = pod.metadata.generation
        entry |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
        stamped.append(entry)
    return stamped


def container_status(container: Container, known: ContainerFacts) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": container.name,
        "image": container.image,
        "imageID": known.image,
        "ready": known.ready,
        "started": known.started,
        "restartCount": known.restarts,
        "state": _state(known.state),
        "lastState": _state(known.last) if known.last else {},
    }
    if known.id:
        entry["containerID"] = known.id
    return entry


def _state(state: Waiting | Runs | Ended) -> dict[str, Any]:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        case Runs(started_at):
            return {"running": {"startedAt": started_at}}
        case Ended() as ended:
            terminated: dict[str, Any] = {
                "exitCode": ended.exit_code,
                "reason": "Completed" if ended.exit_code == 0 else "Error",
                "startedAt": ended.started_at,
                "finishedAt": ended.finished_at,
                "containerID": ended.id,
            }
            if ended.code < 0:
                terminated["signal"] = -ended.code
            if ended.message:
                terminated["message"] = ended.message
            return {"terminated": terminated}
