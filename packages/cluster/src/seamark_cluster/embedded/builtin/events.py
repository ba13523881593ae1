"""Events are served in two versions, v1 and events.k8s.io/v1, of one stored object."""

from __future__ import annotations

from seamark_cluster.embedded.builtin.gotypes import normaliser
from seamark_cluster.embedded.builtin.kind import BuiltinKind, Rules
from seamark_cluster.embedded.builtin.validation.others import check_event, check_event_update
from seamark_cluster.embedded.machinery.errors import FieldError, Json
from seamark_cluster.embedded.machinery.kinds import Names, Policy

_MODERN_TO_CORE = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_TO_MODERN = {core: modern for modern, core in _MODERN_TO_CORE.items()}


class ModernEvents(BuiltinKind):
    """events.k8s.io/v1, stored as the corresponding v1 Event."""

    def validate_again(self, new: Json) -> list[FieldError]:
        return [error for error in check_event(new) if error.path != "type"]

    @property
    def invalid_group(self) -> str:
        return ""

    def store(self, obj: Json) -> Json:
        stored = {_MODERN_TO_CORE.get(key, key): value for key, value in obj.items()}
        stored["apiVersion"] = "v1"
        core: Json = normaliser("core/v1.Event")(stored, [])
        return core

    def live(self, stored: Json) -> Json:
        return self.serve(stored)

    def serve(self, stored: Json) -> Json:
        if stored["apiVersion"] == self.names.api_version:
            return stored  # created here and not stored: a dry run
        renamed = {_CORE_TO_MODERN.get(key, key): value for key, value in stored.items()}
        renamed["apiVersion"] = self.names.api_version
        return self.normalised(renamed, [])


def modern_events() -> BuiltinKind:
    kind = ModernEvents(
        Names("events.k8s.io", "v1", "Event", "events", True, "event", ("ev",)),
        "events/v1.Event",
        Policy(create_on_update=True, collects=False),
        Rules(validate=check_event, validate_update=check_event_update, fields=("reason", "type")),
    )
    kind.storage = "events"
    return kind
