"""What a namespace that is being deleted says of itself: what is left in it, and what holds that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from seamark.cluster.embedded.kinds import Names
from seamark.cluster.embedded.status import Json

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
    """What is left in a namespace: how many of which kind, and how many are held by which finalizer."""

    kinds: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)

    def add(self, names: Names, obj: Json) -> None:
        self.kinds[f"{names.plural}.{names.group}"] += 1
        self.finalizers.update(obj["metadata"].get("finalizers") or ())

    def conditions(self, before: list[Json], now: str) -> list[Json]:
        """As the namespace controller writes them; a time moves when the status flips."""
        known = {one["type"]: one for one in before}
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
