"""The shapes of the built-in types: what merges key by key, which lists have keys."""

from __future__ import annotations

from functools import cache
from typing import Any

from seamark_cluster.embedded.builtin.gotypes import ZEROS, Description, fields_of, table
from seamark_cluster.embedded.machinery.shapes import DEDUCED_SHAPE, LEAF_SHAPE, MAP, Shape, list_of, map_of


@cache
def shape_of(struct: str) -> Shape:
    if table()[struct].get("atomic"):
        return LEAF_SHAPE
    return _LazyShape(struct)


class _LazyShape(Shape):
    """The shape of a struct, filled in on first use: types may contain themselves."""

    __slots__ = ("_ready", "_struct")

    def __init__(self, struct: str) -> None:
        super().__init__(MAP)
        self._struct = struct
        self._ready = False

    def child(self, key: str) -> Shape:
        if not self._ready:
            self._fill()
        return super().child(key)

    def resolve(self, value: Any) -> Shape:
        if not self._ready:
            self._fill()
        return self

    def _fill(self) -> None:
        self._ready = True
        for name, description in fields_of(self._struct).items():
            self.fields[name] = LEAF_SHAPE if name == "managedFields" else _shape(description)


def _shape(description: Description) -> Shape:
    kind = description["t"]
    if kind == "struct":
        return LEAF_SHAPE if description.get("mt") == "atomic" else shape_of(description["s"])
    if kind == "map":
        return LEAF_SHAPE if description.get("mt") == "atomic" else map_of(_shape(description["of"]))
    if kind == "list":
        return _list_shape(description)
    return DEDUCED_SHAPE if kind.startswith("schemaOr") else LEAF_SHAPE


def _list_shape(description: Description) -> Shape:
    listed = description.get("lt")
    if listed == "set":
        return list_of(LEAF_SHAPE)
    if listed == "map":
        inner = fields_of(description["of"]["s"])
        keys = tuple(description["lk"])
        defaults = {key: _key_default(inner[key]) for key in keys}
        return list_of(
            shape_of(description["of"]["s"]),
            keys,
            {key: value for key, value in defaults.items() if value is not None},
        )
    return LEAF_SHAPE


def _key_default(description: Description) -> Any:
    if "d" in description:
        return description["d"]
    if description.get("o") or description.get("p"):
        return None
    return ZEROS.get(description["t"])
