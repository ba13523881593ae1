"""`spec.metadata`: a map, or a text of JSON; at the edge it is a text."""

from __future__ import annotations

import json
from typing import Any

from seamark_edge.api.ngrok import OWNED_BY
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json


def for_edge(metadata: Any) -> str:
    """The metadata for the edge; the default of the kinds is left out, as our own mark contains more."""
    if metadata is None or metadata in ("", OWNED_BY):
        return ""
    return metadata if isinstance(metadata, str) else json.dumps(metadata, sort_keys=True)


def from_annotation(text: str) -> Any:
    """An annotation as `spec.metadata`: a map if it is one, else the text; None if it is not set."""
    if not text:
        return None
    try:
        found = decode_plain_json(text)
    except Malformed:
        return text
    return found if isinstance(found, dict) else text
