"""The conditions of a terminating namespace: what is left in it, and which finalizers block it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from seamark_cluster.embedded.machinery.errors import Json
from seamark_cluster.embedded.machinery.kinds import Names

_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(slots=True)
class Remains:
    """What is left in a namespace: how many objects of which kind, and how many are blocked by which finalizer."""

    kinds: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)

    def add(self, names: Names, obj: Json) -> None:
        self.kinds[f"{names.plural}.{names.group}"] += 1
        self.finalizers.update(obj["metadata"].get("finalizers") or ())

    def conditions(self, before: list[Json], now: str) -> list[Json]:
        """As the namespace controller writes them; a transition time changes with the status."""
        known = {item["type"]: item for item in before}
        return [self._condition(kind, known.get(kind), now) for kind in _WELL]

    def _condition(self, kind: str, old: Json | None, now: str) -> Json:
        status, (reason, message) = "False", _WELL[kind]
        if kind == "NamespaceContentRemaining" and self.kinds:
            status, reason = "True", "SomeResourcesRemain"
            left = sorted(f"{name} has {count} resource instances" for name, count in self.kinds.items())
            message = f"Some resources are remaining: {', '.join(left)}"
        if kind == "NamespaceFinalizersRemaining" and self.finalizers:
            status, reason = "True", "SomeFinalizersRemain"
            held = sorted(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            message = f"Some content in the namespace has finalizers remaining: {', '.join(held)}"
        time = old["lastTransitionTime"] if old and old["status"] == status else now
        return {"type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}
