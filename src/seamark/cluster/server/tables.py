"""Tables: what `kubectl get` shows, made here as the API server makes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seamark.cluster.embedded.kinds import Kind
from seamark.cluster.embedded.store import Store
from seamark.cluster.server.jsonpath import find

Json = dict[str, Any]
FORM = "as=Table"


@dataclass(frozen=True)
class Column:
    name: str
    cell: Callable[[Json, datetime], Any]
    type: str = "string"
    priority: int = 0
    format: str = ""


def wants_table(accept: str) -> bool:
    """The first form that the client would take, if that is a table."""
    return FORM in accept.split(",", maxsplit=1)[0]


class Tables:
    """Documents as tables: columns of the CustomResourceDefinition, or of the built-in kind."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, kind: Kind, document: Json, now: datetime, include: str = "Metadata") -> Json:
        columns = self._columns(kind)
        items = document.get("items", [document]) if document.get("kind", "").endswith("List") else [document]
        table: Json = {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {name: value for name, value in document.get("metadata", {}).items() if name in LIST_META},
            "columnDefinitions": [_definition(column) for column in columns],
            "rows": [_row(columns, item, now, include) for item in items],
        }
        return table

    def event(self, kind: Kind, line: bytes, now: datetime, *, first: bool) -> bytes:
        """A line of a watch as a table of one row; only the first has the columns."""
        event = json.loads(line)
        if event["type"] in ("ERROR",):
            return line
        table = self.of(kind, event["object"], now)
        if event["type"] == "BOOKMARK":
            table["rows"] = []
            table["metadata"] = event["object"]["metadata"]
        if not first:
            table["columnDefinitions"] = None
        return json.dumps({"type": event["type"], "object": table}).encode() + b"\n"

    def _columns(self, kind: Kind) -> list[Column]:
        definition = self._store.get("customresourcedefinitions.apiextensions.k8s.io", "", kind.names.resource)
        if definition is None:
            return [NAME, *BUILTIN.get(kind.names.kind, ()), AGE]
        version = next(one for one in definition["spec"]["versions"] if one["name"] == kind.names.version)
        declared = version.get("additionalPrinterColumns")
        if not declared:
            return [NAME, AGE]
        return [NAME, *(_declared(column) for column in declared)]


LIST_META = ("resourceVersion", "continue", "remainingItemCount")


def _declared(column: Json) -> Column:
    path, date = column["jsonPath"], column["type"] == "date"

    def cell(obj: Json, now: datetime) -> Any:
        found = find(path, obj)
        if not found:
            return None
        return age(found[0], now) if date else found[0]

    return Column(column["name"], cell, column["type"], int(column.get("priority", 0)), column.get("format", ""))


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": "string" if column.type == "date" else column.type,
        "format": "name" if column.name == "Name" else column.format,
        "description": "",
        "priority": column.priority,
    }


def _row(columns: list[Column], obj: Json, now: datetime, include: str) -> Json:
    shown: Json = obj
    if include == "Metadata":
        shown = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj.get("metadata", {})}
    row: Json = {"cells": [column.cell(obj, now) for column in columns]}
    return row if include == "None" else {**row, "object": shown}


def age(stamp: Any, now: datetime) -> str:
    """A span as kubectl writes it: 5s, 3m20s, 4h, 2d."""
    if not isinstance(stamp, str):
        return "<unknown>"
    try:
        seconds = max(0, int((now - datetime.fromisoformat(stamp)).total_seconds()))
    except ValueError:
        return "<invalid>"
    for limit, unit, size, small, small_size in SPANS:
        if seconds < limit:
            rest = seconds % size // small_size if small else 0
            return f"{seconds // size}{unit}" + (f"{rest}{small}" if rest else "")
    return f"{seconds // 86400}d"


# below this many seconds: the unit and its size, and the smaller unit that is shown beside it
SPANS = (
    (120, "s", 1, "", 1),
    (600, "m", 60, "s", 1),
    (10_800, "m", 60, "", 1),
    (28_800, "h", 3600, "m", 60),
    (172_800, "h", 3600, "", 1),
    (691_200, "d", 86_400, "h", 3600),
)


# ---- the built-in kinds


def _at(path: str, missing: Any = "<none>") -> Callable[[Json, datetime], Any]:
    def cell(obj: Json, _now: datetime) -> Any:
        found = find(path, obj)
        return found[0] if found and found[0] != "" else missing

    return cell


def _count(path: str) -> Callable[[Json, datetime], Any]:
    return lambda obj, _now: len(found[0] or ()) if (found := find(path, obj)) else 0


def _ready(obj: Json, _now: datetime) -> str:
    statuses = find(".status.containerStatuses[*].ready", obj)
    return f"{sum(map(bool, statuses))}/{len(find('.spec.containers[*]', obj))}"


def _pod_status(obj: Json, _now: datetime) -> str:
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    waiting = find(".status.containerStatuses[*].state.waiting.reason", obj)
    return str((waiting or find(".status.phase", obj) or ["Pending"])[0])


def _restarts(obj: Json, _now: datetime) -> str:
    return str(sum(find(".status.containerStatuses[*].restartCount", obj)))


def _external(obj: Json, _now: datetime) -> str:
    spec = obj.get("spec", {})
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", "<none>"))
    ingress = find(".status.loadBalancer.ingress[*]", obj)
    addresses = [str(one.get("ip") or one.get("hostname")) for one in ingress]
    if spec.get("type") == "LoadBalancer":
        return ",".join(addresses) or "<pending>"
    return "<none>"


def _ports(obj: Json, _now: datetime) -> str:
    shown = []
    for port in find(".spec.ports[*]", obj):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port['port']}{node}/{port['protocol']}")
    return ",".join(shown) or "<none>"


def _of(path: str, total: str) -> Callable[[Json, datetime], Any]:
    return lambda obj, _now: f"{(find(path, obj) or [0])[0]}/{(find(total, obj) or [0])[0]}"


NAME = Column("Name", _at(".metadata.name"))
AGE = Column("Age", lambda obj, now: age(obj.get("metadata", {}).get("creationTimestamp"), now))

BUILTIN: dict[str, tuple[Column, ...]] = {
    "Namespace": (Column("Status", _at(".status.phase")),),
    "ConfigMap": (Column("Data", lambda obj, now: str(_count(".data")(obj, now) + _count(".binaryData")(obj, now))),),
    "Secret": (Column("Type", _at(".type")), Column("Data", _count(".data"), "integer")),
    "Pod": (
        Column("Ready", _ready),
        Column("Status", _pod_status),
        Column("Restarts", _restarts),
        Column("IP", _at(".status.podIP"), priority=1),
        Column("Node", _at(".spec.nodeName"), priority=1),
    ),
    "Service": (
        Column("Type", _at(".spec.type")),
        Column("Cluster-IP", _at(".spec.clusterIP")),
        Column("External-IP", _external),
        Column("Port(s)", _ports),
    ),
    "Deployment": (
        Column("Ready", _of(".status.readyReplicas", ".spec.replicas")),
        Column("Up-to-date", _at(".status.updatedReplicas", 0), "integer"),
        Column("Available", _at(".status.availableReplicas", 0), "integer"),
    ),
    "StatefulSet": (Column("Ready", _of(".status.readyReplicas", ".spec.replicas")),),
    "ReplicaSet": (
        Column("Desired", _at(".spec.replicas", 0), "integer"),
        Column("Current", _at(".status.replicas", 0), "integer"),
        Column("Ready", _at(".status.readyReplicas", 0), "integer"),
    ),
    "Lease": (Column("Holder", _at(".spec.holderIdentity", "")),),
    "CustomResourceDefinition": (Column("Created At", _at(".metadata.creationTimestamp"), "date"),),
    "Event": (
        Column("Type", _at(".type")),
        Column("Reason", _at(".reason")),
        Column("Object", lambda obj, _now: _about(obj)),
        Column("Message", lambda obj, _now: str(obj.get("note") or obj.get("message") or "").strip()),
    ),
}


def _about(obj: Json) -> str:
    about = obj.get("regarding") or obj.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"
