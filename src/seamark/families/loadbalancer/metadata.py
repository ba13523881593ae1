"""`spec.metadata`: a map, or a text of JSON; at the edge it is a text."""

from __future__ import annotations

import json
from typing import Any

from seamark.api.ngrok import OWNED_BY


def remote(metadata: Any) -> str:
    """What the edge is told; the default of the kinds says nothing that our own mark does not say better."""
    if metadata is None or metadata in ("", OWNED_BY):
        return ""
    return metadata if isinstance(metadata, str) else json.dumps(metadata, sort_keys=True)


def readable(text: str) -> Any:
    """An annotation as `spec.metadata`: a map if it is one, else the text; None where nothing is said."""
    if not text:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text
