"""What a Pod's status should say, from what is known of its containers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.api.core import Container, Pod


@dataclass(frozen=True)
class Waiting:
    reason: str
    message: str = ""


@dataclass(frozen=True)
class Runs:
    started_at: str


@dataclass(frozen=True)
class Ended:
    code: int  # minus a signal's number if one ended it
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
    """All that is known of a Pod here. `finished`: nothing of it will run again."""

    address: str = ""
    node_address: str = ""
    started_at: str = ""
    prepared: bool = False  # it has its network and its files
    initialized: bool = False
    finished: bool = False
    containers: Mapping[str, ContainerFacts] = field(default_factory=dict)


def judge(pod: Pod, facts: PodFacts, said: Iterable[Mapping[str, Any]], now: str) -> dict[str, Any]:
    """The status in the words of the API. `said` are the conditions as they stand: their times move on a flip only."""
    spec = pod.spec
    init = [(one, facts.containers.get(one.name, CREATED)) for one in spec.init_containers or ()]
    main = [(one, facts.containers.get(one.name, CREATED)) for one in spec.containers]
    phase = _phase(pod, facts, [known for _, known in main], [known for _, known in init])
    status: dict[str, Any] = {
        "phase": phase,
        "conditions": _stamped(pod, _conditions(pod, facts, phase, main, init), said, now),
        "hostIP": facts.node_address,
        "hostIPs": [{"ip": facts.node_address}],
        "startTime": facts.started_at,
        "containerStatuses": [container_status(one, known) for one, known in main],
    }
    if init:
        status["initContainerStatuses"] = [container_status(one, known) for one, known in init]
    if facts.address:
        status |= {"podIP": facts.address, "podIPs": [{"ip": facts.address}]}
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    return status


CREATED = ContainerFacts()


def _phase(pod: Pod, facts: PodFacts, main: list[ContainerFacts], init: list[ContainerFacts]) -> str:
    if facts.finished:
        return "Failed" if any(_failed(known) for known in (*main, *init)) else "Succeeded"
    if facts.initialized and any(isinstance(one.state, Runs | Ended) or one.last for one in main):
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
    unready = [one.name for one, known in main if not known.ready]
    reason, message = "", ""
    if phase == "Succeeded":
        reason = "PodCompleted"
    elif phase == "Failed":
        reason = "PodFailed"
    elif unready:
        reason, message = "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    well = not unready and not reason
    gates = [gate.condition_type for gate in pod.spec.readiness_gates or ()]
    shut = [gate for gate in gates if (one := pod.condition(gate)) is None or one.status != "True"]
    ready: Row = ("Ready", well, reason, message)
    if well and shut:
        words = "; ".join(f'the status of pod readiness gate "{gate}" is not "True"' for gate in shut)
        ready = ("Ready", False, "ReadinessGatesNotReady", words)
    waiting = [one.name for one, known in init if not (known.ready or _succeeded(known))]
    words = f"containers with incomplete status: [{' '.join(waiting)}]"
    uninitialized = ("Initialized", False, "ContainersNotInitialized", words)
    return [
        ("PodReadyToStartContainers", facts.prepared and not facts.finished, "", ""),
        ("Initialized", True, "", "") if facts.initialized or not init else uninitialized,
        ready,
        ("ContainersReady", well, reason, message),
    ]


def _succeeded(known: ContainerFacts) -> bool:
    return isinstance(known.state, Ended) and known.state.exit_code == 0


def _stamped(pod: Pod, rows: list[Row], said: Iterable[Mapping[str, Any]], now: str) -> list[dict[str, Any]]:
    before = {one["type"]: one for one in said}
    stamped = []
    for type_, well, reason, message in rows:
        status = "True" if well else "False"
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
