"""Comparing, merging and pruning objects by their shape: the operations of server-side apply.

Everything returns new values and shares unchanged parts with its inputs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from seamark_cluster.embedded.machinery.fieldsets import HERE, Trie, below, is_member, marked
from seamark_cluster.embedded.machinery.shapes import DEDUCED_SHAPE, LIST, MAP, MergeError, Shape

MISSING: Any = object()


class Changes(NamedTuple):
    """The fields that a new object adds, changes and removes, compared with the old one."""

    added: Trie
    modified: Trie
    removed: Trie


class _Sets:
    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: Trie | None = None
        self.modified: Trie | None = None
        self.removed: Trie | None = None


def compare(shape: Shape, old: Any, new: Any) -> Changes:
    found = _compare(shape, old, new)
    return Changes(found.added or {}, found.modified or {}, found.removed or {})


_SAME = _Sets()


def _compare(shape: Shape, old: Any, new: Any) -> _Sets:
    if old is new or (old is not MISSING and new is not MISSING and old == new and type(old) is type(new)):
        return _SAME
    out = _Sets()
    if old is MISSING:
        out.added = every_path(shape, new)
    elif new is MISSING:
        out.removed = every_path(shape, old)
    else:
        shape = shape.resolve(new if new is not None else old)
        if shape.kind is MAP and (old or new) and _is_map(old) and _is_map(new):
            _compare_maps(shape, old or {}, new or {}, out)
        elif shape.kind is LIST and (old or new):
            _compare_lists(shape, old or [], new or [], out)
        else:
            out.modified = HERE
    return out


def _is_map(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _collect(out: _Sets, element: str, found: _Sets) -> None:
    if found.added is not None:
        if out.added is None:
            out.added = {}
        out.added[element] = found.added
    if found.modified is not None:
        if out.modified is None:
            out.modified = {}
        out.modified[element] = found.modified
    if found.removed is not None:
        if out.removed is None:
            out.removed = {}
        out.removed[element] = found.removed


def _compare_maps(shape: Shape, old: dict[str, Any], new: dict[str, Any], out: _Sets) -> None:
    for key, value in old.items():
        found = _compare(shape.child(key), value, new.get(key, MISSING))
        if found is not _SAME:
            _collect(out, f"f:{key}", found)
    for key, value in new.items():
        if key not in old:
            _collect(out, f"f:{key}", _compare(shape.child(key), MISSING, value))


def _by_element(shape: Shape, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(shape.element(item), []).append(item)
    return found


def _compare_lists(shape: Shape, old: list[Any], new: list[Any], out: _Sets) -> None:
    item = shape.item or DEDUCED_SHAPE
    left, right = _by_element(shape, old), _by_element(shape, new)
    for element in [*left, *(entry for entry in right if entry not in left)]:
        lefts, rights = left.get(element, []), right.get(element, [])
        found = _Sets()
        if len(lefts) <= 1 and len(rights) <= 1:
            found = _compare(item, lefts[0] if lefts else MISSING, rights[0] if rights else MISSING)
        elif len(lefts) > 1 and len(rights) > 1:
            found.modified = HERE if lefts != rights else None
        elif len(lefts) > 1:
            found.added = every_path(item, rights[0]) if rights else None
            found.removed = HERE
        else:
            found.removed = every_path(item, lefts[0]) if lefts else None
            found.added = HERE
        if found is not _SAME:
            _collect(out, element, found)


def every_path(shape: Shape, value: Any) -> Trie:
    """The set of an added or removed value: itself, and everything in it."""
    shape = shape.resolve(value)
    if shape.kind is MAP and value and isinstance(value, dict):
        return {".": HERE, **{f"f:{key}": every_path(shape.child(key), child) for key, child in value.items()}}
    if shape.kind is LIST and value:
        item = shape.item or DEDUCED_SHAPE
        return {
            ".": HERE,
            **{
                element: every_path(item, same[0]) if len(same) == 1 else HERE
                for element, same in _by_element(shape, value).items()
            },
        }
    return HERE


def field_set(shape: Shape, value: Any) -> Trie:
    """The fields of an applied configuration."""
    return _field_set(shape, value) or {}


def _field_set(shape: Shape, value: Any) -> Trie | None:
    shape = shape.resolve(value)
    if shape.kind is MAP:
        if not isinstance(value, dict):
            return None
        found: Trie = {}
        for key, child in value.items():
            node = _field_set(shape.child(key), child)
            if child is None or child == {} or key not in shape.fields:
                node = marked(node)
            if node is not None:
                found[f"f:{key}"] = node
        return found or None
    if shape.kind is LIST:
        if not value:
            return None
        item = shape.item or DEDUCED_SHAPE
        return {
            element: marked(_field_set(item, same[0])) if len(same) == 1 else HERE
            for element, same in _by_element(shape, value).items()
        }
    return HERE


def merge(shape: Shape, old: Any, new: Any) -> Any:
    """`new` merged into `old`: fields of `new` win, all others are kept."""
    if new is MISSING or new is old:
        return old
    shape = shape.resolve(new if new is not None else old)
    if old is MISSING:
        old = None
    if shape.kind is MAP and (old or new) and _is_map(old):
        return _merge_maps(shape, old or {}, new or {})
    if shape.kind is LIST and (old or new):
        return _merge_lists(shape, old or [], new or [])
    return new


def _merge_maps(shape: Shape, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    result = {}
    for key, value in old.items():
        result[key] = merge(shape.child(key), value, new.get(key, MISSING))
    for key, value in new.items():
        if key not in old:
            result[key] = merge(shape.child(key), MISSING, value)
    return result


def _merge_lists(shape: Shape, old: list[Any], new: list[Any]) -> list[Any]:
    """Items of `new` in their order; items that only `old` has keep their place between them."""
    item = shape.item or DEDUCED_SHAPE
    lefts = [(shape.element(entry), entry) for entry in old]
    rights = [(shape.element(candidate), candidate) for candidate in new]
    right: dict[str, Any] = {}
    for element, candidate in rights:
        if element in right:
            raise MergeError(f"duplicate entries for key {element}")
        right[element] = candidate
    left: dict[str, Any] = {}
    for element, candidate in lefts:
        left[element] = None if element in left else candidate
    return _interleave(lefts, rights, left, lambda element: merge(item, left.get(element, MISSING), right[element]))


def _interleave(lefts: list[Any], rights: list[Any], left: dict[str, Any], merged: Any) -> list[Any]:
    shared = [element for element, _ in rights if element in left]
    rights_at = {element for element, _ in rights}
    done: set[str] = set()
    out: list[Any] = []
    at_left = at_right = at_shared = 0
    while at_left < len(lefts) or at_right < len(rights):
        following = shared[at_shared] if at_shared < len(shared) else None
        if at_left < len(lefts):
            element, kept_item = lefts[at_left]
            if element not in rights_at:
                out.append(kept_item)
                at_left += 1
                continue
            if element in done or (at_right < len(rights) and following is not None and element != following):
                at_left += 1
                continue
        if at_right < len(rights):
            element, _ = rights[at_right]
            out.append(merged(element))
            done.add(element)
            at_right += 1
            if at_left < len(lefts) and lefts[at_left][0] == element:
                at_left += 1
            if element == following:
                at_shared += 1
    return out


def remove(shape: Shape, value: Any, cut: Trie) -> Any:
    """The value without the fields of a set; what becomes empty is removed too (`MISSING` for the whole)."""
    shape = shape.resolve(value)
    if shape.kind is MAP and isinstance(value, dict) and value:
        return _remove_keys(shape, value, cut)
    if shape.kind is LIST and value:
        return _remove_items(shape, value, cut)
    return value if shape.kind not in (MAP, LIST) else None


def _remove_keys(shape: Shape, value: dict[str, Any], cut: Trie) -> Any:
    result = {}
    for key, child in value.items():
        element = f"f:{key}"
        node = cut.get(element)
        if is_member(node):
            continue
        result[key] = remove(shape.child(key), child, below(cut, element)) if node else child
    return result or None


def _remove_items(shape: Shape, value: list[Any], cut: Trie) -> Any:
    item = shape.item or DEDUCED_SHAPE
    result = []
    for entry in value:
        element = shape.element(entry)
        node = cut.get(element)
        if is_member(node):
            continue
        result.append(remove(item, entry, below(cut, element)) if node else entry)
    return result or None
