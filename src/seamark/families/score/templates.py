"""Templates of provisioners: text with `{{.names}}`, which are looked up and nothing more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLACE = re.compile(r"\{\{\s*(.*?)\s*\}\}")
NAME = re.compile(r"\.(workload\.(name|namespace|uid)|claim\.(name|key|id|class)|params(\.[A-Za-z0-9_-]+)+)")


def faults(template: str) -> str:
    """What is wrong with a template, in words; empty when nothing is."""
    for place in PLACE.findall(template):
        if not NAME.fullmatch(place):
            return f"{{{{{place}}}}} names nothing: there are .workload.name, .claim.name, .params.<name> and the like"
    return ""


class Unfilled(ValueError):
    """A name in a template for which there is no value."""


def fill(template: str, values: Mapping[str, Any]) -> str:
    def value(place: re.Match[str]) -> str:
        found: Any = values
        for part in place[1].lstrip(".").split("."):
            if not isinstance(found, Mapping) or part not in found:
                raise Unfilled(f"{place[1].removeprefix('.')} is not said")
            found = found[part]
        return str(found)

    return PLACE.sub(value, template)
