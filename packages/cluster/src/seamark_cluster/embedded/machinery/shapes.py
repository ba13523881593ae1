"""The shape of a kind, as far as merging needs it: leaves, maps that merge by key, lists with keys.

A `Shape` is compiled once per kind and version and shared by everything that compares or merges its objects.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seamark_cluster.embedded.machinery.fieldsets import Trie, is_member, marked

LEAF, MAP, LIST, DEDUCED = "leaf", "map", "list", "deduced"


class Shape:
    """One node of a schema.

    - `leaf` values are compared and replaced whole (scalars, atomic lists and maps).
    - `map` values merge by key: declared `fields` first, every other key as `item`.
    - `list` values merge by element: by the values of `keys`, or by the element itself for a set.
    - `deduced` values have no schema: objects merge by key, everything else is a leaf.
    """

    __slots__ = ("defaults", "fields", "item", "keys", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.fields: dict[str, Shape] = {}
        self.item: Shape | None = None
        self.keys: tuple[str, ...] = ()
        self.defaults: dict[str, Any] = {}

    def child(self, key: str) -> Shape:
        shape = self.fields.get(key)
        if shape is not None:
            return shape
        return self.item if self.item is not None else DEDUCED_SHAPE

    def resolve(self, value: Any) -> Shape:
        """This node for a given value: only a deduced node depends on it."""
        if self.kind is not DEDUCED:
            return self
        return DEDUCED_MAP if isinstance(value, dict) else LEAF_SHAPE

    def element(self, item: Any) -> str:
        """The path element of an item of this list."""
        if not self.keys:
            return "v:" + scalar_text(item)
        if not isinstance(item, dict):
            raise MergeError("associative list with keys may not have non-map elements")
        found = {}
        for key in self.keys:
            if key in item:
                found[key] = item[key]
            elif key in self.defaults:
                found[key] = self.defaults[key]
        if not found:
            shown = " ".join(f'"{key}"' for key in self.keys)
            raise MergeError(
                f"associative list with keys has an element that omits all key fields [{shown}] "
                "(and doesn't have default values for any key fields)"
            )
        return "k:" + _encode(found)


class MergeError(Exception):
    """A value does not match its shape, so its fields have no paths."""


_ENCODER = msgspec.json.Encoder(order="sorted")


def _encode(value: Any) -> str:
    return _ENCODER.encode(value).decode()


def scalar_text(value: Any) -> str:
    return _encode(value)


LEAF_SHAPE = Shape(LEAF)
DEDUCED_SHAPE = Shape(DEDUCED)
DEDUCED_MAP = Shape(MAP)
DEDUCED_MAP.item = DEDUCED_SHAPE


def map_of(item: Shape) -> Shape:
    shape = Shape(MAP)
    shape.item = item
    return shape


def list_of(item: Shape, keys: tuple[str, ...] = (), defaults: dict[str, Any] | None = None) -> Shape:
    shape = Shape(LIST)
    shape.item = item
    shape.keys = keys
    shape.defaults = defaults or {}
    return shape


def with_named_fields(shape: Shape, node: Trie) -> Trie:
    """The set, where every declared field that leads to a member is a member itself."""
    result: Trie = {}
    for element, child in node.items():
        if element == ".":
            result[element] = child
            continue
        name = element[2:] if element[0] == "f" else ""
        deeper = shape.child(name) if element[0] == "f" else (shape.item or DEDUCED_SHAPE)
        walked = with_named_fields(deeper, child) if child else child
        declared = element[0] == "f" and name in shape.fields
        result[element] = marked(walked) if declared and not is_member(walked) else walked
    return result
