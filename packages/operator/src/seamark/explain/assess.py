"""The health of an object from its status: from its conditions, or from kind-specific fields.

- A condition about an older generation does not count for the current one.
- Some conditions are bad when True (`BAD_WHEN_TRUE`); conditions of one entry of a list are about that entry.
- An object that is being deleted is on its way out: it carries nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from seamark.explain import kinds
from seamark.explain.model import ObservedCondition, Raw, Truth
from seamark_runtime.api.meta import Resource
from seamark_runtime.untrusted.decoding import Malformed, decode_json

BAD_WHEN_TRUE = {
    *("Conflicted", "Degraded", "OverlappingTLSConfig", "PartiallyInvalid", "Stalled", "Draining"),
    *("Provisioning", "LBPending", "IngressPending", "DNSNotReady"),
}
IGNORED = {"Progressing", "PodScheduled", "Initialized", "ContainersReady", "PodReadyToStartContainers"}
SUMMARIES = ("Ready", "Available")
REACHABLE = f"{kinds.SERVICE_CONDITIONS}Reachable"  # the summary of a Service


def conditions_of(raw: Raw) -> tuple[ObservedCondition, ...]:
    """All conditions of the status, those of its list entries included."""
    status = raw.get("status") or {}
    writers = _writers(raw)
    found = [_condition(raw, condition, "", writers) for condition in status.get("conditions") or ()]
    found += [
        _condition(raw, condition, about, {})
        for about, entry in _entries(status)
        for condition in entry.get("conditions") or ()
    ]
    return tuple(found)


def _entries(status: Raw) -> Iterator[tuple[str, Raw]]:
    for parent in status.get("parents") or ():
        yield _reference(parent.get("parentRef") or {}), parent
    for ancestor in status.get("ancestors") or ():
        yield _reference(ancestor.get("ancestorRef") or {}), ancestor
    for listener in status.get("listeners") or ():
        yield f"listener {listener.get('name')}", listener


def _reference(reference: Raw) -> str:
    section = f", {reference['sectionName']}" if reference.get("sectionName") else ""
    return f"{reference.get('kind', 'Gateway')} {reference.get('name')}{section}"


def _condition(raw: Raw, condition: Raw, about: str, writers: dict[str, str]) -> ObservedCondition:
    type_, status = condition.get("type", ""), condition.get("status", "Unknown")
    observed = condition.get("observedGeneration")
    return ObservedCondition(
        type=type_,
        status=status,
        reason=condition.get("reason") or "",
        message=condition.get("message") or "",
        since=condition.get("lastTransitionTime") or "",
        about=about,
        writer=writers.get(type_) or writers.get("", ""),
        good=type_ in IGNORED or status == ("False" if type_ in BAD_WHEN_TRUE else "True"),
        current=observed is None or observed == raw.get("metadata", {}).get("generation", observed),
    )


def _writers(raw: Raw) -> dict[str, str]:
    """Which field manager owns each condition; under the empty name, who owns the list as a whole."""
    owners: dict[str, str] = {}
    for entry in raw.get("metadata", {}).get("managedFields") or ():
        fields = (entry.get("fieldsV1") or {}).get("f:status", {}).get("f:conditions")
        if fields == {}:
            owners[""] = entry.get("manager", "")
        for key in fields or ():
            if key.startswith("k:"):
                owners[_type_of(key[2:])] = entry.get("manager", "")
    return owners


def _type_of(key: str) -> str:
    """The condition type in a key of the managed fields, which any editor of the object may have written."""
    with suppress(Malformed):
        return decode_json(key, _ConditionKey).type
    return ""


class _ConditionKey(msgspec.Struct):
    type: str = ""


def field_owners(raw: Raw) -> tuple[tuple[str, str], ...]:
    """Who owns each field of spec and status, by the server's own records."""
    owners: dict[str, list[str]] = {}
    for entry in raw.get("metadata", {}).get("managedFields") or ():
        for part in ("spec", "status"):
            for name in (entry.get("fieldsV1") or {}).get(f"f:{part}") or ():
                if name.startswith("f:"):
                    owners.setdefault(f"{part}.{name[2:]}", []).append(entry.get("manager", ""))
    return tuple((name, ", ".join(dict.fromkeys(managers))) for name, managers in sorted(owners.items()))


def assess(resource: Resource, raw: Raw, conditions: tuple[ObservedCondition, ...]) -> tuple[Truth, str]:
    """What is known of it, and its worst condition, in short."""
    if raw.get("metadata", {}).get("deletionTimestamp"):
        return Truth.FALSE, "it is being deleted"
    if resource in BY_STATUS:
        return BY_STATUS[resource](raw)
    if not conditions:
        return (Truth.UNKNOWN, "no controller has reported its status yet") if resource in kinds.OURS else GOOD
    return _worst(conditions)


def _worst(conditions: tuple[ObservedCondition, ...]) -> tuple[Truth, str]:
    summary = [condition for condition in conditions if condition.type in SUMMARIES and not condition.about]
    decisive = [condition for condition in (summary or conditions) if condition.type not in IGNORED]
    outdated = [condition for condition in decisive if not condition.current]
    if outdated:
        return Truth.UNKNOWN, f"{outdated[0].type} is about an older spec"
    bad = [condition for condition in decisive if not condition.good]
    worst = next((condition for condition in bad if condition.status != "Unknown"), bad[0] if bad else None)
    if worst is None:
        return GOOD
    truth = Truth.UNKNOWN if worst.status == "Unknown" else Truth.FALSE
    where = f" ({worst.about})" if worst.about else ""
    return truth, f"{worst.type}={worst.status}{where} {worst.reason}: {worst.message}".rstrip(": ")


GOOD = (Truth.TRUE, "")


def _service(raw: Raw) -> tuple[Truth, str]:
    if (raw.get("spec") or {}).get("type") != "LoadBalancer":
        return GOOD
    status = raw.get("status") or {}
    if (status.get("loadBalancer") or {}).get("ingress"):
        ours = (condition for condition in conditions_of(raw) if condition.type.startswith(kinds.SERVICE_CONDITIONS))
        return _worst(tuple(sorted(ours, key=lambda condition: condition.type != REACHABLE)))
    condition: Raw = next((entry for entry in status.get("conditions") or () if entry.get("status") != "True"), {})
    return Truth.FALSE, ": ".join(part for part in ("it has no address yet", condition.get("message")) if part)


def _slice(raw: Raw) -> tuple[Truth, str]:
    ready = [
        endpoint
        for endpoint in raw.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
    ]
    return GOOD if ready else (Truth.FALSE, "no ready endpoint")


def _claim(raw: Raw) -> tuple[Truth, str]:
    status = raw.get("status") or {}
    if status.get("phase") == "Bound":
        return GOOD
    parts = (f"phase {status.get('phase') or 'Pending'}", status.get("reason"), status.get("message"))
    return Truth.FALSE, ": ".join(part for part in parts if part)


def _replicas(raw: Raw) -> tuple[Truth, str]:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    if (status.get("observedGeneration") or 0) < raw.get("metadata", {}).get("generation", 0):
        return Truth.UNKNOWN, "its controller has not looked at this spec yet"
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas") or 0
    return GOOD if ready >= wanted else (Truth.FALSE, f"{ready} of {wanted} replicas are ready")


def _pod(raw: Raw) -> tuple[Truth, str]:
    status = raw.get("status") or {}
    ready: Raw = next((entry for entry in status.get("conditions") or () if entry.get("type") == "Ready"), {})
    if ready.get("status") == "True":
        return GOOD
    containers = [problem for entry in status.get("containerStatuses") or () if (problem := _container(entry))]
    return Truth.FALSE, "; ".join(containers) or ready.get("message") or f"phase {status.get('phase', 'Pending')}"


def _container(container: dict[str, Any]) -> str:
    """What keeps a container from being ready; empty if nothing does."""
    name, state = container.get("name"), container.get("state") or {}
    reported = state.get("waiting") or state.get("terminated")
    if reported:
        return ": ".join(
            part for part in (f"{name} {reported.get('reason', '')}".rstrip(), reported.get("message")) if part
        )
    return "" if container.get("ready") else f"{name} is not ready"


BY_STATUS: dict[Resource, Callable[[Raw], tuple[Truth, str]]] = {  # kinds whose health is not in conditions
    kinds.SERVICE: _service,
    kinds.SLICE: _slice,
    kinds.CLAIM: _claim,
    kinds.DEPLOYMENT: _replicas,
    kinds.STATEFUL_SET: _replicas,
    kinds.POD: _pod,
}
