"""Sets of fields, in the form of `managedFields`: a trie of path elements.

- A node maps a path element (`f:name`, `k:{…}`, `v:…`) to the node below. An empty node is a member without members
  below it; a node with "." is a member that has some; a node without "." only leads to members.
- The root is never a member itself, so the empty root is the empty set.
- Tries are values: no function here changes one, and results share nodes where possible.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

Trie = dict[str, "Trie"]

HERE: Trie = {}
SELF = "."


def is_member(node: Trie | None) -> bool:
    return node is not None and (not node or SELF in node)


def marked(node: Trie | None) -> Trie:
    """The same node as a member."""
    if not node or SELF in node:
        return node or HERE
    return {SELF: HERE, **node}


def _node(member: bool, below: Trie) -> Trie | None:
    if member:
        return {SELF: HERE, **below} if below else HERE
    return below or None


def union(left: Trie, right: Trie) -> Trie:
    if not left:
        return right
    if not right or left is right:
        return left
    result = dict(left)
    for element, node in right.items():
        other = result.get(element)
        if other is None:
            result[element] = node
        elif other is not node and element != SELF:
            below = union(_below(other), _below(node))
            result[element] = _node(is_member(other) or is_member(node), below) or HERE
    return result


def difference(left: Trie, right: Trie) -> Trie:
    """Members of `left` that are not members of `right`, path by path."""
    return _combine(left, right, keep_common=False)


def intersection(left: Trie, right: Trie) -> Trie:
    return _combine(left, right, keep_common=True)


def _combine(left: Trie, right: Trie, *, keep_common: bool) -> Trie:
    if not left or not right:
        return HERE if keep_common else left
    result: Trie = {}
    for element, node in left.items():
        if element == SELF:
            continue
        other = right.get(element)
        if other is None:
            if not keep_common:
                result[element] = node
            continue
        member = is_member(node) and (is_member(other) == keep_common)
        kept = _node(member, _combine(_below(node), _below(other), keep_common=keep_common))
        if kept is not None:
            result[element] = kept
    return result


def without(left: Trie, right: Trie) -> Trie:
    """`left` without every member of `right` and everything below those."""
    result: Trie = {}
    for element, node in left.items():
        other = right.get(element) if element != SELF else None
        if other is None:
            result[element] = node
        elif not is_member(other):
            kept = _node(is_member(node), without(_below(node), _below(other)))
            if kept is not None:
                result[element] = kept
    return result


def _below(node: Trie) -> Trie:
    if SELF in node:
        return {element: child for element, child in node.items() if element != SELF}
    return node


def below(root: Trie, element: str) -> Trie:
    node = root.get(element)
    return _below(node) if node else HERE


def members(root: Trie) -> Iterator[tuple[str, ...]]:
    """Every member's path, shallow ones first at each level, in the order of path elements."""
    elements = sorted((element for element in root if element != SELF), key=_order)
    for element in elements:
        if is_member(root[element]):
            yield (element,)
    for element in elements:
        for path in members(_below(root[element])):
            yield (element, *path)


def _order(element: str) -> tuple[int, str]:
    return ("fkvi".index(element[0]), element)


def shown(path: tuple[str, ...]) -> str:
    """A path as in the message of a conflict: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(_shown(element) for element in path)


def _shown(element: str) -> str:
    tag, text = element[0], element[2:]
    if tag == "f":
        return f".{text}"
    if tag == "k":
        keys = msgspec.json.decode(text)
        return "[" + ",".join(f"{key}={_scalar(keys[key])}" for key in sorted(keys)) + "]"
    return f"[={text}]" if tag == "v" else f"[{text}]"


def _scalar(value: object) -> str:
    return msgspec.json.encode(value).decode()
