"""Merge patch and JSON patch on plain values. Both return a new value and leave the old one unchanged."""

from __future__ import annotations

import copy
from typing import Any


class PatchError(Exception):
    """`malformed`: the text is not a patch. Else it can't be applied to this object."""

    def __init__(self, message: str, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.malformed = malformed


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merge_patch(result.get(key), value)
        else:
            result[key] = value
    return result


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902."""
    if not isinstance(operations, list):
        raise PatchError("json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp", malformed=True)
    result = copy.deepcopy(target)
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchError("json: cannot unmarshal value into Go value of type jsonpatch.Operation", malformed=True)
        result = _apply(result, operation)
    return result


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    op, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        raise PatchError("missing path")
    match op:
        case "add":
            return _add(document, path, copy.deepcopy(operation.get("value")))
        case "remove":
            _remove(document, path, "remove")
            return document
        case "replace":
            _get(document, path, "replace")
            return _replace(document, path, copy.deepcopy(operation.get("value")))
        case "move":
            value = _remove(document, str(operation.get("from")), "move")
            return _add(document, path, value)
        case "copy":
            return _add(document, path, copy.deepcopy(_get(document, str(operation.get("from")), "copy")))
        case "test":
            return _test(document, path, operation.get("value"))
        case _:
            raise PatchError(f"Unexpected kind: {op}")


def _tokens(path: str) -> list[str]:
    if path == "":
        return []
    if not path.startswith("/"):
        raise PatchError(f"unable to parse path: {path}")
    return [token.replace("~1", "/").replace("~0", "~") for token in path[1:].split("/")]


def _step(value: Any, token: str, path: str, op: str) -> Any:
    if isinstance(value, dict):
        if token in value:
            return value[token]
    elif isinstance(value, list):
        index = _index(token, len(value) - 1)
        if index is not None:
            return value[index]
    raise PatchError(f"{op} operation does not apply: doc is missing path: {path}: missing value")


def _index(token: str, last: int) -> int | None:
    if not token.isdigit() or int(token) > last:
        return None
    return int(token)


def _get(document: Any, path: str, op: str) -> Any:
    value = document
    for token in _tokens(path):
        value = _step(value, token, path, op)
    return value


def _parent(document: Any, path: str, op: str) -> tuple[Any, str]:
    tokens = _tokens(path)
    if not tokens:
        raise PatchError(f"{op} operation does not apply: doc is missing path: {path}: missing value")
    value = document
    for token in tokens[:-1]:
        value = _step(value, token, path, op)
    return value, tokens[-1]


def _add(document: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    parent, token = _parent(document, path, "add")
    if isinstance(parent, dict):
        parent[token] = value
    elif isinstance(parent, list):
        index = len(parent) if token == "-" else _index(token, len(parent))  # noqa: S105 - "-" is RFC 6902's end
        if index is None:
            raise PatchError(f"add operation does not apply: doc is missing path: {path}: invalid index")
        parent.insert(index, value)
    else:
        raise PatchError(f"add operation does not apply: doc is missing path: {path}: missing value")
    return document


def _replace(document: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    parent, token = _parent(document, path, "replace")
    if isinstance(parent, list):
        parent[int(token)] = value
    else:
        parent[token] = value
    return document


def _remove(document: Any, path: str, op: str) -> Any:
    parent, token = _parent(document, path, op)
    value = _step(parent, token, path, op)
    if isinstance(parent, list):
        parent.pop(int(token))
    else:
        del parent[token]
    return value


def _test(document: Any, path: str, wanted: Any) -> Any:
    try:
        found = _get(document, path, "test")
    except PatchError:
        found = None
        if wanted is not None:
            raise PatchError(f"testing path {path} failed: test failed") from None
    if found != wanted or (isinstance(found, bool) != isinstance(wanted, bool)):
        raise PatchError(f"testing value {path} failed: test failed")
    return document
