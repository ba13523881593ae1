"""events.k8s.io: what happened to an object, for people."""

from __future__ import annotations

from typing import ClassVar

from seamark_runtime.api.meta import Object, Resource, Wire


class ObjectReference(Wire, frozen=True, kw_only=True):
    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


class Series(Wire, frozen=True, kw_only=True):
    count: int
    last_observed_time: str


class Event(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("events.k8s.io", "v1", "Event", "events")

    event_time: str = ""
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference | None = None
    note: str = ""
    type: str = ""
    series: Series | None = None
