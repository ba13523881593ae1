"""Tables for `kubectl get`, as the API server computes them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from seamark_cluster.embedded.machinery.kinds import Kind
from seamark_cluster.embedded.store import Store
from seamark_cluster.server.columns import AGE, NAME, Column, age
from seamark_cluster.server.jsonpath import find
from seamark_cluster.server.kubectl_columns import BUILTIN

Json = dict[str, Any]


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
        """An event of a watch as a table of one row; only the first has the columns."""
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
            columns = BUILTIN.get(kind.names.kind, (AGE,))
            return [*columns] if any(column.name == NAME.name for column in columns) else [NAME, *columns]
        version = next(item for item in definition["spec"]["versions"] if item["name"] == kind.names.version)
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
        "format": "name" if column is NAME else column.format,
        "description": "",
        "priority": column.priority,
    }


def _row(columns: list[Column], obj: Json, now: datetime, include: str) -> Json:
    shown: Json = obj
    if include == "Metadata":
        shown = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj.get("metadata", {})}
    row: Json = {"cells": [column.cell(obj, now) for column in columns]}
    return row if include == "None" else {**row, "object": shown}
