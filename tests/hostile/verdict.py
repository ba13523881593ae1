"""What came of a case. Pure functions over what was seen; none asks Seamark whether all is well.

A case is `silent` if all of this holds:
- the API server accepted the object;
- the base manifest, without the change, is spoken of: Seamark writes a condition into the status of the object (or of
  the object beside it that shows the outcome);
- within the deadline there was no condition for the present generation (one that the definition has by default is no
  condition), and no event of Seamark's about it;
- the field is not one of `NOT_OURS`: those that decide whether the object is Seamark's at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tests.hostile.corpus import Entry
from tests.hostile.known_names import CANARY, CANARY_TLS, CANARY_WORDS
from tests.hostile.schema import ELEMENT, Path

Json = Mapping[str, Any]
BAD = 400
DEFAULT_TIME = "1970-01-01T00:00:00Z"  # of conditions that a definition has by default
GOOD_PHASES = ("Bound", "Ready")
NEGATIVE = frozenset(("Conflicted", "Draining", "OverlappingTLSConfig", "PartiallyInvalid"))

PARENT, TARGET = ("spec", "parentRefs"), ("spec", "targetRefs")
NOT_OURS: dict[str, tuple[tuple[Path, str], ...]] = {
    "Gateway": ((("spec", "gatewayClassName"), "a Gateway of another class is another controller's"),),
    "ListenerSet": ((("spec", "parentRef"), "a ListenerSet of no Gateway of ours is another controller's"),),
    **dict.fromkeys(
        ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"),
        ((PARENT, "a route without a parent of ours is another controller's"),),
    ),
    "BackendTLSPolicy": ((TARGET, "a policy that is attached to nothing of ours has no ancestor to report on"),),
    "TrafficPolicy": (
        (TARGET, "a policy that is attached to nothing of ours has no ancestor to report on"),
        (("spec", "targetSelectors"), "a policy that is attached to nothing of ours has no ancestor to report on"),
        (("spec",), "a policy without targets has no ancestor to report on"),
    ),
    "Service": (
        (("spec", "type"), "only a Service of type LoadBalancer is ours"),
        (("spec", "loadBalancerClass"), "a Service of another class is another controller's"),
    ),
    "WorkloadExposure": ((("spec", "runtimeClass"), "an exposure of another runtime is another controller's"),),
    "WorkloadPlan": ((("spec", "runtimeClass"), "a plan for another runtime is another controller's"),),
}


# Kinds about whose valid objects nothing is reported: their cases can't be silent. Any other such kind is a failure.
UNREPORTED = {
    "BoundEndpoint": "read in the namespace of the installation alone, where no tenant may write",
    "KubernetesOperator": "read in the namespace of the installation alone, where no tenant may write",
    "Ingress": "a source of DNS names, and another controller's; names that can't be served are reported by an event",
    "ReferenceGrant": "has no status; its effect is reported on the object that refers",
    "UDPRoute": "no data plane of ours serves UDP; the listener for it is refused in the Gateway's status",
}


class Outcome(Enum):
    REFUSED = "refused"  # by the API server
    SERVED = "served"  # every condition is good
    REPORTED = "reported"  # a condition that is not good, or an event
    UNUSED = "unused"  # nothing is reported about the base manifest either
    NOT_OURS = "not ours"
    SILENT = "silent"
    CROSSED = "crossed"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Seen:
    """What there was to see of one case."""

    code: int  # the API server's answer to the object
    status: Json | None = None  # of the object that shows the outcome
    generation: int = 0
    events: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()  # where the canary's markers were seen
    gone: bool = False  # deleted by the garbage collector, for an owner that does not exist


def conditions(status: Any) -> Iterator[Json]:
    """All conditions of a status, those inside of its entries too."""
    if isinstance(status, Mapping):
        for name, value in status.items():
            if name == "conditions" and isinstance(value, list):
                yield from (one for one in value if isinstance(one, Mapping))
            else:
                yield from conditions(value)
    elif isinstance(status, list):
        for value in status:
            yield from conditions(value)


def written(status: Any, generation: int) -> list[Json]:
    """Conditions that a controller has written about this generation."""
    return [
        one
        for one in conditions(status)
        if one.get("lastTransitionTime") != DEFAULT_TIME and one.get("observedGeneration", generation) == generation
    ]


def reasons(status: Any) -> set[str]:
    """Of all its conditions."""
    return {str(one.get("reason", "")) for one in conditions(status)}


def phase(status: Any, generation: int) -> str:
    """What a status without conditions says of this generation, as that of a ResourceClaim does."""
    if not isinstance(status, Mapping) or "conditions" in status or status.get("observedGeneration") != generation:
        return ""
    return str(status.get("phase", ""))


def spoken(status: Any, generation: int) -> bool:
    return bool(written(status, generation) or phase(status, generation))


def good(status: Any, generation: int) -> bool:
    """Every condition is positive."""
    found = written(status, generation)
    if not found:
        return phase(status, generation) in GOOD_PHASES
    return all(one.get("status") == ("False" if one["type"] in NEGATIVE else "True") for one in found)


def decided(status: Any, generation: int) -> bool:
    """No condition is Unknown any more."""
    return spoken(status, generation) and all(one.get("status") != "Unknown" for one in written(status, generation))


def not_ours(kind: str, path: Path) -> str:
    """Why silence is right for a change of this field; empty if it is not."""
    for start, reason in NOT_OURS.get(kind, ()):
        exact = start == ("spec",)
        if path == start if exact else path[: len(start)] == start:
            return reason
    return ""


def forbidden(path: Path, entry: Entry) -> bool:
    """Whether a good status means that the canary's namespace was reached.

    So it is for a reference that names the canary's Secrets by a path, or its namespace; and for an upstream there.
    What an EndpointSlice refers to is for people: no program looks it up.
    """
    if not path or not isinstance(entry.value, str) or path[0] == "endpoints":
        return False
    named = [step for step in path if step != ELEMENT]
    refers = len(named) > 1 and named[-2].endswith(("Ref", "Refs")) and not named[-2].startswith("parentRef")
    if refers and named[-1] in ("name", "namespace"):
        names = (f"/{CANARY_TLS}", f"/{CANARY_WORDS}", f"%2f{CANARY_TLS}")
        return entry.value == CANARY or any(name in entry.value for name in names)
    return path[-2:] == ("upstream", "url") and f".{CANARY}" in entry.value


def judged(seen: Seen, kind: str, path: Path, entry: Entry, *, base_speaks: bool) -> Outcome:
    if seen.leaks:
        return Outcome.CROSSED
    if seen.code >= BAD:
        return Outcome.REFUSED
    if good(seen.status, seen.generation):
        return Outcome.CROSSED if forbidden(path, entry) else Outcome.SERVED
    if seen.events or spoken(seen.status, seen.generation):
        return Outcome.REPORTED
    if not base_speaks or seen.gone:
        return Outcome.UNUSED
    return Outcome.NOT_OURS if not_ours(kind, path) else Outcome.SILENT


def percentile(values: list[float], part: float) -> float:
    """The value that this part of all values do not exceed; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


ACCIDENT = 20  # samples of which the longest may be an accident


def usual(before: list[float]) -> float:
    """How long it takes beside valid objects: p99.9. Of fewer samples than that takes, the longest but one: a single
    slow one would hide every stall up to its own length."""
    ordered = sorted(before)
    if not ordered:
        return 0.0
    return min(percentile(ordered, 0.999), ordered[-2]) if len(ordered) >= ACCIDENT else ordered[-1]


def stalled_ms(before: Mapping[str, list[float]], during: Mapping[str, list[float]]) -> float:
    """How much longer the canary waits for its next status than before: p99.9 of all its objects together.

    Each sample counts from what is usual for its own kind of object.
    """
    beyond = [1000 * (value - usual(before.get(name) or [])) for name, several in during.items() for value in several]
    return max(0.0, percentile(beyond, 0.999))
