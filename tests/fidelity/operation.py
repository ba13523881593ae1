"""One operation: a request as data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Operation:
    """One request. `row` names it in the table: kind, verb, option."""

    row: tuple[str, str, str]
    method: str
    path: str
    body: Any = None
    media: str = "application/json"
    query: dict[str, str] = field(default_factory=dict)
    of: str = ""
    """The path of the object that placeholders mean."""

    def __repr__(self) -> str:
        query = "&".join(f"{key}={value}" for key, value in self.query.items())
        return f"{'/'.join(self.row)}: {self.method} {self.path}?{query} {json.dumps(self.body)} [{self.media}]"


def merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
