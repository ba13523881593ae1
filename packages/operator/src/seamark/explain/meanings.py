"""What a reason means. `meanings.json` is generated from the declared conditions (`python -m tools.reference`):
so an explanation need not load all families first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files

import msgspec

FILE = "meanings.json"


@cache
def _known() -> dict[str, dict[str, dict[str, str]]]:
    return msgspec.json.decode(
        files(__package__).joinpath(FILE).read_bytes(), type=dict[str, dict[str, dict[str, str]]]
    )


def meanings() -> Callable[[str, str, str], str]:
    """(kind, condition, reason) → what it means to a user; empty for reasons of other controllers."""
    known = _known()
    return lambda kind, condition, reason: known.get(kind, {}).get(condition, {}).get(reason, "")
