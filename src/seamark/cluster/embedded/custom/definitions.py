"""CustomResourceDefinitions at work: accepting names, serving kinds, and clearing up after a deleted one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from seamark.cluster.embedded.registry import DEFINITIONS, Registry
from seamark.cluster.embedded.revisions import Event, Revisions
from seamark.cluster.embedded.status import Json
from seamark.core.clock import timestamp


class Definitions:
    """Follows definitions: a new one is established and served at once, a deleted one takes its objects with it."""

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
        """What is said of a definition: established once, with the names and versions that it has now."""
        said = definition.get("status") or {}
        now = timestamp(self._now())
        conditions = [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
            _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
        ]
        stored = [one["name"] for one in definition["spec"]["versions"] if one.get("storage")]
        before = said.get("storedVersions") or []
        return {
            **said,
            "conditions": said["conditions"] if _established(definition) else conditions,
            "acceptedNames": definition["spec"]["names"],
            "storedVersions": [*before, *(one for one in stored if one not in before)],
        }


def _established(definition: Json) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _condition(kind: str, reason: str, message: str, now: str) -> Json:
    return {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
