"""A store with a manual clock, and a client with plain values."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seamark_cluster.embedded import ADMIN, Store, User, Watch
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path

Json = dict[str, Any]

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


class StillClock:
    """A clock that moves only when advanced."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.now.timestamp()

    def wall(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Cluster:
    """A store and its clock, for tests."""

    store: Store
    clock: StillClock
    user: User = ADMIN

    def answer(self, method: str, path: str, body: Any = None, media: str = "application/json", **query: str) -> Answer:
        data = b"" if body is None else json.dumps(body).encode()
        found = self.store.handle(HttpRequest(method, received_path(path), query, data, media), self.user, "tester")
        assert isinstance(found, Answer)
        return found

    def ok(self, method: str, path: str, body: Any = None, media: str = "application/json", **query: str) -> Json:
        found = self.answer(method, path, body, media, **query)
        document: Json = json.loads(found.body)
        assert found.status in (200, 201), document
        return document

    def refused(
        self, code: int, method: str, path: str, body: Any = None, media: str = "application/json", **query: str
    ) -> Json:
        found = self.answer(method, path, body, media, **query)
        document: Json = json.loads(found.body)
        assert found.status == code, document
        return document

    def apply(self, path: str, body: Json, manager: str, **query: str) -> Json:
        return self.ok("PATCH", path, body, APPLY, fieldManager=manager, **query)

    def watch(self, path: str, **query: str) -> Watch:
        found = self.store.handle(HttpRequest("GET", received_path(path), {"watch": "true", **query}), self.user)
        assert isinstance(found, Watch)
        return found


def events(watch: Watch) -> list[tuple[str, Json]]:
    return [(event["type"], event["object"]) for event in map(json.loads, watch.pending())]


CONDITIONS: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"}},
    },
}

WIDGET_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["color"],
            "properties": {
                "size": {"type": "integer", "default": 3, "minimum": 1, "maximum": 10},
                "color": {"type": "string", "enum": ["red", "green"]},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "title": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
                "options": {"type": "object", "additionalProperties": {"type": "string"}},
                "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {
            "type": "object",
            "default": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending"}]},
            "properties": {"conditions": CONDITIONS, "count": {"type": "integer"}},
        },
    },
}


def definition(schema: Json, plural: str = "widgets", kind: str = "Widget") -> Json:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


def widget(name: str = "w", **spec: Any) -> Json:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"color": "red", **spec},
    }


def config_map(name: str = "c", **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def new_cluster() -> Cluster:
    clock = StillClock()
    store = Store(clock, random.Random(7))
    store.create(definition(WIDGET_SCHEMA))
    return Cluster(store, clock)


@pytest.fixture
def cluster() -> Cluster:
    return new_cluster()


@pytest.fixture
def another() -> Callable[[], Cluster]:
    return new_cluster
