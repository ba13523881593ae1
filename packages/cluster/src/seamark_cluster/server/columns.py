"""Columns of tables, and their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seamark_cluster.server.jsonpath import find

Json = dict[str, Any]
Cell = Callable[[Json, datetime], Any]


@dataclass(frozen=True)
class Column:
    """One column: its name, and its value for an object at a given time. Those of priority 1 are for `-o wide`."""

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0
    format: str = ""


def at(path: str, missing: Any = "<none>") -> Cell:
    """The value at a path."""

    def cell(obj: Json, _now: datetime) -> Any:
        found = find(path, obj)
        return found[0] if found and found[0] not in ("", None) else missing

    return cell


def count(path: str) -> Cell:
    return lambda obj, _now: len(found[0] or ()) if (found := find(path, obj)) else 0


def joined(path: str, missing: str = "<none>") -> Cell:
    """All values of a path, separated by commas."""
    return lambda obj, _now: ",".join(str(item) for item in find(path, obj)) or missing


def of(part: str, whole: str) -> Cell:
    """A count out of a total."""
    return lambda obj, _now: f"{(find(part, obj) or [0])[0]}/{(find(whole, obj) or [0])[0]}"


def pairs(labels: Json | None) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((labels or {}).items())) or "<none>"


def selector(path: str) -> Cell:
    """A selector in command line syntax."""

    def cell(obj: Json, _now: datetime) -> str:
        found = (find(path, obj) or [{}])[0] or {}
        if "matchLabels" not in found and "matchExpressions" not in found:
            return pairs(found)
        labels = [f"{name}={value}" for name, value in sorted((found.get("matchLabels") or {}).items())]
        return (
            ",".join([*labels, *(_requirement(expression) for expression in found.get("matchExpressions") or ())])
            or "<none>"
        )

    return cell


def _requirement(requirement: Json) -> str:
    values = f"({','.join(sorted(requirement.get('values') or ()))})"
    match requirement["operator"]:
        case "In":
            return f"{requirement['key']} in {values}"
        case "NotIn":
            return f"{requirement['key']} notin {values}"
        case "Exists":
            return str(requirement["key"])
        case _:
            return f"!{requirement['key']}"


def age(stamp: Any, now: datetime) -> str:
    """A duration as kubectl writes it: 5s, 3m20s, 4h, 2d."""
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


NAME = Column("Name", at(".metadata.name"), format="name")
AGE = Column("Age", lambda obj, now: age(obj.get("metadata", {}).get("creationTimestamp"), now))
CREATED = Column("Created At", at(".metadata.creationTimestamp"))
