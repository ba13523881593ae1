"""CustomResourceDefinitions: accepting names, serving kinds, and deleting the objects of a deleted one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from seamark_cluster.embedded.machinery.errors import Json
from seamark_cluster.embedded.machinery.revisions import Event, Revisions
from seamark_cluster.embedded.registry import DEFINITIONS, Registry
from seamark_runtime.clock import timestamp


class Definitions:
    """Follows definitions: a new one is established and served at once, a deleted one is deleted with its objects."""

    def __init__(self, revisions: Revisions, registry: Registry, now: Callable[[], datetime]) -> None:
        self._revisions = revisions
        self._registry = registry
        self._now = now

    def changed(self, event: Event) -> None:
        if event.new is None:
            self._registry.uninstall(event.key[1])
            for key in list(self._revisions.table(event.key[1]).keys):
                self._revisions.write(event.key[1], key, None)
            return
        self._registry.install(event.new)
        status = self._status(event.new)
        if status != event.new.get("status"):
            written = {**event.new, "metadata": dict(event.new["metadata"]), "status": status}
            self._revisions.write(DEFINITIONS, event.key, written)

    def _status(self, definition: Json) -> Json:
        """The status of a definition: established once, with its current names and versions."""
        current = definition.get("status") or {}
        now = timestamp(self._now())
        conditions = [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
            _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
        ]
        stored = [version["name"] for version in definition["spec"]["versions"] if version.get("storage")]
        before = current.get("storedVersions") or []
        return {
            **current,
            "conditions": current["conditions"] if _established(definition) else conditions,
            "acceptedNames": definition["spec"]["names"],
            "storedVersions": [*before, *(item for item in stored if item not in before)],
        }


def _established(definition: Json) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def _condition(kind: str, reason: str, message: str, now: str) -> Json:
    return {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
