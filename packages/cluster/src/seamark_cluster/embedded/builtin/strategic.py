"""Strategic merge patch: lists merge by the key of their type, and `$patch` directives replace or delete."""

from __future__ import annotations

from typing import Any

from seamark_cluster.embedded.builtin.gotypes import Description, fields_of
from seamark_cluster.embedded.machinery.errors import Json


class StrategicError(Exception):
    """The patch breaks the rules of strategic merge."""


def strategic_patch(struct: str, target: Json, patch: Json) -> Json:
    result: Json = _merge_struct(struct, target, patch)
    return result


def _merge_struct(struct: str | None, target: Json, patch: Json) -> Any:
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise StrategicError(f"Unknown patch type: {directive}")
    fields = fields_of(struct) if struct else {}
    result = dict(target)
    retain = patch.get("$retainKeys")
    for key, value in patch.items():
        if key.startswith("$"):
            _directive(fields, result, key, value)
        elif value is None:
            result.pop(key, None)
        elif key not in result:
            result[key] = _bare(value)
        else:
            result[key] = _merge_value(fields.get(key), result[key], value)
    if isinstance(retain, list):
        result = {key: value for key, value in result.items() if key in retain}
    return result


def _bare(value: Any) -> Any:
    """A patch without an existing value: its values, without nulls and directives."""
    if isinstance(value, dict):
        if "$patch" in value:
            return {}
        return {key: _bare(entry) for key, entry in value.items() if not key.startswith("$") and entry is not None}
    if isinstance(value, list):
        return [_bare(item) for item in value if not (isinstance(item, dict) and "$patch" in item)]
    return value


def _directive(fields: dict[str, Description], result: Json, key: str, value: Any) -> None:
    """Directives about a list are fields of its parent."""
    name, _, field = key.partition("/")
    if name == "$deleteFromPrimitiveList" and isinstance(result.get(field), list):
        result[field] = [item for item in result[field] if item not in value]
    elif name == "$setElementOrder" and isinstance(result.get(field), list):
        merge_key = fields.get(field, {}).get("pk", "")
        order = [entry.get(merge_key) if isinstance(entry, dict) else entry for entry in value]

        def rank(item: Any) -> int:
            name = item.get(merge_key) if isinstance(item, dict) else item
            return order.index(name) if name in order else len(order)

        result[field] = sorted(result[field], key=rank)


def _merge_value(description: Description | None, target: Any, patch: Any) -> Any:
    description = description or {}
    if isinstance(patch, dict):
        if "replace" in description.get("ps", "").split(",") and "retainKeys" not in description.get("ps", ""):
            return patch
        struct = description.get("s") if description.get("t") == "struct" else None
        inner = target if isinstance(target, dict) else {}
        if description.get("t") == "map":
            return _merge_map(description["of"], inner, patch)
        return _merge_struct(struct, inner, patch)
    if isinstance(patch, list) and "merge" in description.get("ps", "").split(","):
        return _merge_list(description, target if isinstance(target, list) else [], patch)
    if isinstance(patch, list):
        return [item for item in patch if not (isinstance(item, dict) and item == {"$patch": "replace"})]
    return patch


def _merge_map(of: Description, target: Json, patch: Json) -> Json:
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if patch.get("$patch") == "delete":
        return {}
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge_value(of, result.get(key), value)
    return result


def _merge_list(description: Description, target: list[Any], patch: list[Any]) -> list[Any]:
    key = description.get("pk", "")
    if not key:
        return _interleaved(
            [candidate for candidate in target if candidate not in patch], list(dict.fromkeys(patch)), target
        )
    struct = description["of"].get("s")
    result = list(target)
    for candidate in patch:
        if candidate == {"$patch": "replace"}:
            return [other for other in patch if other is not candidate]
    for candidate in patch:
        if not isinstance(candidate, dict) or key not in candidate:
            raise StrategicError(f"map: {candidate} does not contain declared merge key: {key}")
        index = next((at for at, other in enumerate(result) if other.get(key) == candidate[key]), None)
        if candidate.get("$patch") == "delete":
            result = [other for other in result if other.get(key) != candidate[key]]
        elif index is None:
            result.append({name: value for name, value in candidate.items() if name != "$patch"})
        else:
            result[index] = _merge_struct(struct, result[index], candidate)
    named = [item[key] for item in patch]
    items = {element.get(key): element for element in result}
    kept = [name for name in items if name not in named]
    order = _interleaved(kept, [name for name in named if name in items], [entry.get(key) for entry in target])
    return [items[name] for name in order]


def _interleaved(kept: list[Any], patched: list[Any], before: list[Any]) -> list[Any]:
    """Items of the patch in its order; other items keep their place before the item that followed them."""
    result, left = [], list(kept)
    for item in patched:
        while left and item in before and before.index(left[0]) < before.index(item):
            result.append(left.pop(0))
        result.append(item)
    return result + left
