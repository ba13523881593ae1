"""Whether the containers of a Workload's Pod are as expected."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from seamark_runtime.quantity import parse
from tests.score_files.forms import Compute, Container, Match, Order
from tests.score_files.matching import Known, file_differs, text_differs
from tests.score_files.run.found import Found

Json = dict[str, Any]
WRITE = 'f="$1/.written-$$"; : > "$f" && rm "$f"'


async def container_differs(found: Found, workload: str, name: str, expected: Container) -> AsyncIterator[str]:
    pod = found.pod(workload)
    if pod is None:
        yield f"{name}: there is no Pod"
        return
    status = statuses(pod).get(name, {})
    for problem in state_differs(expected, status, pod, name):
        yield f"{name}: {problem}"
    if expected.env:
        async for problem in environment_differs(found, workload, name, expected):
            yield f"{name}: {problem}"
    pod_name = pod["metadata"]["name"]
    async for problem in files_differ(found, pod_name, name, expected):
        yield f"{name}: {problem}"
    for run in expected.run:
        ran = await found.cluster.execute(found.namespace, pod_name, name, run.command)
        output = ran.out.decode(errors="replace")
        if ran.code != 0:
            yield f"{name}: {' '.join(run.command)[:80]} ends with {ran.code}: {ran.errors.strip()[:200]}"
        elif run.output is not None and (differs := text_differs(run.output, output)):
            yield f"{name}: {' '.join(run.command)[:80]}: {differs}"
    if expected.log is not None:
        ran = await found.cluster.kubectl(found.namespace, "logs", pod_name, "-c", name)
        if differs := text_differs(expected.log, ran.out.decode(errors="replace")):
            yield f"{name}: log: {differs[:300]}"


def statuses(pod: Json) -> dict[str, Json]:
    found = pod.get("status") or {}
    every = (*(found.get("initContainerStatuses") or ()), *(found.get("containerStatuses") or ()))
    return {status["name"]: status for status in every}


def state_differs(expected: Container, status: Json, pod: Json, name: str) -> Iterator[str]:
    if expected.restarts is not None and status.get("restartCount") != expected.restarts:
        yield f"expected {expected.restarts} restarts, found {status.get('restartCount')}"
    running = "running" in (status.get("state") or {})
    if expected.running is not None and running != expected.running:
        yield f"expected running {expected.running}, found {status.get('state')}"
    if expected.resources is not None:
        spec = pod["spec"]
        every = (*(spec.get("initContainers") or ()), *spec["containers"])
        own: Json = next((each for each in every if each["name"] == name), {})
        yield from resources_differ(expected.resources, own.get("resources") or {})


def resources_differ(expected: Compute, found: Json) -> Iterator[str]:
    for kind, amounts in (("requests", expected.requests), ("limits", expected.limits)):
        for what, amount in amounts.items():
            given = (found.get(kind) or {}).get(what)
            if given is None or parse(str(given)).amount != parse(amount).amount:
                yield f"{kind}.{what}: expected {amount}, found {given}"


async def environment_differs(found: Found, workload: str, name: str, expected: Container) -> AsyncIterator[str]:
    variables = await found.environment(workload, name)
    if variables is None:
        yield "its environment can't be read"
        return
    for variable, value in variables.items():
        found.variables[f"{workload}/{name}/{variable}"] = value
    for variable, text in expected.env.items():
        if isinstance(text, Match) and (other := text.same_as or text.differs_from):
            await _read_other(found, other)
        known = Known(found.variables, found.earlier.get(f"{workload}/{name}/{variable}"))
        if differs := text_differs(text, variables.get(variable), known):
            yield f"{variable}: {differs}"


async def _read_other(found: Found, place: str) -> None:
    workload, container, _ = place.split("/")
    if place not in found.variables:
        for variable, value in (await found.environment(workload, container) or {}).items():
            found.variables[f"{workload}/{container}/{variable}"] = value


async def files_differ(found: Found, pod: str, name: str, expected: Container) -> AsyncIterator[str]:
    for path, file in expected.files.items():
        read = await found.cluster.execute(found.namespace, pod, name, ("cat", path))
        mode = await found.cluster.execute(found.namespace, pod, name, ("stat", "-L", "-c", "%a", path))
        content = read.out if read.code == 0 else None
        octal = int(mode.out.strip(), 8) if mode.code == 0 else None
        for problem in file_differs(file, content, octal):
            yield f"{path}: {problem}"
    for path, access in expected.volumes.items():
        there = await found.cluster.execute(found.namespace, pod, name, ("test", "-d", path))
        if there.code != 0:
            yield f"{path}: there is no mount"
        elif access != "mounted":
            writes = await found.cluster.execute(found.namespace, pod, name, ("sh", "-c", WRITE, "sh", path))
            if (writes.code == 0) != (access == "writable"):
                yield f"{path}: expected {access}, a write ends with {writes.code}"


def order_differs(orders: tuple[Order, ...], pod: Json | None) -> Iterator[str]:
    """From the times in the Pod's status, in seconds: `then` has not started before `first` has got there."""
    known = statuses(pod) if pod is not None else {}
    for order in orders:
        first, then = known.get(order.first, {}), known.get(order.then, {})
        reached = _times(first)
        began = _times(then).get("started", "")
        wanted = reached.get("finished" if order.state == "complete" else "started", "")
        if not began or not wanted or wanted > began:
            yield f"{order.then} started at {began or 'no time'}, {order.first} was {order.state} at {wanted or 'none'}"


def _times(status: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for state in (status.get("lastState") or {}, status.get("state") or {}):
        for details in state.values():
            found |= {"started": str(details.get("startedAt", found.get("started", "")))}
            if "finishedAt" in details:
                found["finished"] = str(details["finishedAt"])
    return found
