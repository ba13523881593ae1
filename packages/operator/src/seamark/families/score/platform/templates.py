"""Templates of provisioners: text with `{{.names}}`, which are looked up and nothing more.

- A value is put in as it is, as JSON if it is no text: what looks like a template in it is not filled in again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from seamark_runtime.untrusted.patterns import Match, Pattern

PLACE = Pattern(r"\{\{\s*(.*?)\s*\}\}")
NAME = Pattern(
    r"\.(workload\.(name|namespace|uid)|claim\.(name|key|id|class)|peer\.(service|port)|platform\.host|params(\.[A-Za-z0-9_-]+)+)"
)


def names(template: str) -> Iterator[str]:
    """What stands between the braces, in order."""
    return (place[1] for place in PLACE.finditer(template))


def faults(template: str) -> str:
    """What is wrong with a template, in words; empty when nothing is."""
    for place in names(template):
        if not NAME.fullmatch(place):
            return f"{{{{{place}}}}} names nothing: there are .workload.name, .claim.name, .params.<name> and the like"
    return ""


class Unfilled(ValueError):
    """A name in a template for which there is no value."""


def fill(template: str, values: Mapping[str, Any]) -> str:
    def value(place: Match) -> str:
        found: Any = values
        for part in place[1].lstrip(".").split("."):
            if not isinstance(found, Mapping) or part not in found:
                raise Unfilled(f"{place[1].removeprefix('.')} is not set")
            found = found[part]
        if found is None:
            raise Unfilled(f"{place[1].removeprefix('.')} is not set")
        return as_text(found)

    return PLACE.sub(value, template)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
