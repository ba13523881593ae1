"""What may differ between two servers that agree: identities, times, versions, addresses. Everything else may not."""

from __future__ import annotations

import json
import re
from typing import Any

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b")
_GENERATED = re.compile(r"gen-[a-z0-9]{5}")
_VERSION = re.compile(r"(resource version: |in record \(|precondition \(|in object meta: )\d+")

# Why a body could not be decoded is in the terms of Go's decoders.
_DECODING = re.compile(
    r"(cannot be handled as a \w+: |continue key is not valid: |is unrecognized \(must be of type \w+\): "
    r"|failed to (?:create typed patch object|convert new object))(?!strict).*"
)
# Several built-in roles grant the same; which one is named depends on the server's caches.
_BUILT_IN_ROLE = re.compile(r"system:(discovery|public-info-viewer)")
_STORAGE = re.compile(r"StorageError: .* AdditionalErrorMsg: ")
_VALUE = re.compile(r"^(.*?: )([\[{].*[\]}])(: .*)?$", re.DOTALL)

_MASKED = {"resourceVersion", "uid", "creationTimestamp", "deletionTimestamp", "time", "continue"}


def masked(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: masked(element, name) for name, element in value.items()}
    if isinstance(value, list):
        items = [masked(item) for item in value]
        if key == "causes":
            # Several layers of the API server may find the same error; how many do is not guaranteed.
            found = {(cause.get("field", ""), ordered(cause.get("message", ""))): cause for cause in items}
            items = [{**found[name], "message": name[1]} for name in sorted(found)]
        if key in ("resourceRules", "nonResourceRules"):
            items.sort(key=json.dumps)  # in the order of the server's caches
        if key == "managedFields":
            items.sort(key=lambda entry: (entry.get("operation"), entry.get("manager"), entry.get("subresource", "")))
        return items
    if key in _MASKED and value is not None:
        return f"<{key}>" if value else value
    if key == "nodePort":
        return "<port>"
    if isinstance(value, str):
        return text(value)
    return value


def text(value: str) -> str:
    value = _UID.sub("<uid>", value)
    value = _TIME.sub("<time>", value)
    value = _ADDRESS.sub("<address>", value)
    value = _GENERATED.sub("gen-<name>", value)
    value = value.partition("\n@@")[0]  # a diff of Go structs follows
    value = _DECODING.sub("<can't be read>", value)
    value = _BUILT_IN_ROLE.sub("<role>", value)
    value = _STORAGE.sub("", value)
    return _VERSION.sub(r"\1<version>", value)


def ordered(message: str) -> str:
    """A value quoted in a message, with its keys in order: Go writes structs in the order of their fields."""
    match = _VALUE.match(message)
    if match is None:
        return message
    try:
        value = json.loads(match.group(2))
    except ValueError:
        return message
    return f"{match.group(1)}{json.dumps(value, sort_keys=True)}{match.group(3) or ''}"


def comparable(code: int, body: Any) -> Any:
    """A response as it is compared. The order in which several errors are listed is not guaranteed."""
    shown = masked(body)
    if isinstance(shown, dict) and shown.get("kind") == "Status" and code >= 400:
        causes = (shown.get("details") or {}).get("causes") or ()
        if len(causes) > 1 or any(_VALUE.match(cause.get("message", "")) for cause in causes):
            shown["message"] = shown.get("message", "").partition(" is invalid")[0].partition(" conflicts: ")[0]
        elif causes and causes[0].get("field") == "patch":
            shown["message"] = causes[0]["message"] = "<patch>"
    return shown
