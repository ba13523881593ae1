"""Whether an object is as it should be, from what its status says: conditions first, else what its kind shows.

- A statement about an older generation is no statement about the object as it is now.
- Some conditions are bad when True (`BAD_WHEN_TRUE`); conditions of one entry of a list are about that entry.
- An object that is being deleted is on its way out: it carries nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from seamark.explain import kinds
from seamark.explain.model import Raw, Said, Truth
from seamark_runtime.api.meta import Resource
from seamark_runtime.untrusted.decoding import Malformed, decode_json

BAD_WHEN_TRUE = {
    *("Conflicted", "Degraded", "OverlappingTLSConfig", "PartiallyInvalid", "Stalled", "Draining"),
    *("Provisioning", "LBPending", "IngressPending", "DNSNotReady"),
}
NO_MATTER = {"Progressing", "PodScheduled", "Initialized", "ContainersReady", "PodReadyToStartContainers"}
SUMMARIES = ("Ready", "Available")


def statements(raw: Raw) -> tuple[Said, ...]:
    """Everything that the status says in conditions, wherever it says it."""
    status = raw.get("status") or {}
    writers = _writers(raw)
    found = [_said(raw, one, "", writers) for one in status.get("conditions") or ()]
    found += [_said(raw, one, about, {}) for about, entry in _entries(status) for one in entry.get("conditions") or ()]
    return tuple(found)


def _entries(status: Raw) -> Iterator[tuple[str, Raw]]:
    for parent in status.get("parents") or ():
        yield _place(parent.get("parentRef") or {}), parent
    for ancestor in status.get("ancestors") or ():
        yield _place(ancestor.get("ancestorRef") or {}), ancestor
    for listener in status.get("listeners") or ():
        yield f"listener {listener.get('name')}", listener


def _place(reference: Raw) -> str:
    section = f", {reference['sectionName']}" if reference.get("sectionName") else ""
    return f"{reference.get('kind', 'Gateway')} {reference.get('name')}{section}"


def _said(raw: Raw, condition: Raw, about: str, writers: dict[str, str]) -> Said:
    type_, status = condition.get("type", ""), condition.get("status", "Unknown")
    observed = condition.get("observedGeneration")
    return Said(
        type=type_,
        status=status,
        reason=condition.get("reason") or "",
        message=condition.get("message") or "",
        since=condition.get("lastTransitionTime") or "",
        about=about,
        writer=writers.get(type_) or writers.get("", ""),
        good=type_ in NO_MATTER or status == ("False" if type_ in BAD_WHEN_TRUE else "True"),
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


def assess(resource: Resource, raw: Raw, said: tuple[Said, ...]) -> tuple[Truth, str]:
    """What is known of it, and its worst condition, in short."""
    if raw.get("metadata", {}).get("deletionTimestamp"):
        return Truth.FALSE, "it is being deleted"
    if resource in SHOWN:
        return SHOWN[resource](raw)
    if not said:
        return (Truth.UNKNOWN, "nobody has said anything about it yet") if resource in kinds.OURS else GOOD
    return _worst(said)


def _worst(said: tuple[Said, ...]) -> tuple[Truth, str]:
    summary = [one for one in said if one.type in SUMMARIES and not one.about]
    decisive = [one for one in (summary or said) if one.type not in NO_MATTER]
    behind = [one for one in decisive if not one.current]
    if behind:
        return Truth.UNKNOWN, f"{behind[0].type} is about an older spec"
    bad = [one for one in decisive if not one.good]
    worst = next((one for one in bad if one.status != "Unknown"), bad[0] if bad else None)
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
        return GOOD
    told: Raw = next((one for one in status.get("conditions") or () if one.get("status") != "True"), {})
    return Truth.FALSE, ": ".join(word for word in ("it has no address yet", told.get("message")) if word)


def _slice(raw: Raw) -> tuple[Truth, str]:
    ready = [one for one in raw.get("endpoints") or () if (one.get("conditions") or {}).get("ready") is not False]
    return GOOD if ready else (Truth.FALSE, "no ready endpoint")


def _claim(raw: Raw) -> tuple[Truth, str]:
    status = raw.get("status") or {}
    if status.get("phase") == "Bound":
        return GOOD
    words = (f"phase {status.get('phase') or 'Pending'}", status.get("reason"), status.get("message"))
    return Truth.FALSE, ": ".join(word for word in words if word)


def _replicas(raw: Raw) -> tuple[Truth, str]:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    if (status.get("observedGeneration") or 0) < raw.get("metadata", {}).get("generation", 0):
        return Truth.UNKNOWN, "its controller has not looked at this spec yet"
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas") or 0
    return GOOD if ready >= wanted else (Truth.FALSE, f"{ready} of {wanted} replicas are ready")


def _pod(raw: Raw) -> tuple[Truth, str]:
    status = raw.get("status") or {}
    ready: Raw = next((one for one in status.get("conditions") or () if one.get("type") == "Ready"), {})
    if ready.get("status") == "True":
        return GOOD
    containers = [words for one in status.get("containerStatuses") or () if (words := _container(one))]
    return Truth.FALSE, "; ".join(containers) or ready.get("message") or f"phase {status.get('phase', 'Pending')}"


def _container(container: dict[str, Any]) -> str:
    """What keeps a container from being ready; empty if nothing does."""
    name, state = container.get("name"), container.get("state") or {}
    told = state.get("waiting") or state.get("terminated")
    if told:
        return ": ".join(part for part in (f"{name} {told.get('reason', '')}".rstrip(), told.get("message")) if part)
    return "" if container.get("ready") else f"{name} is not ready"


SHOWN: dict[Resource, Callable[[Raw], tuple[Truth, str]]] = {  # kinds that say it otherwise than in conditions
    kinds.SERVICE: _service,
    kinds.SLICE: _slice,
    kinds.CLAIM: _claim,
    kinds.DEPLOYMENT: _replicas,
    kinds.STATEFUL_SET: _replicas,
    kinds.POD: _pod,
}
