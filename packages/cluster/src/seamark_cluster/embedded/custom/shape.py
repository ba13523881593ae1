"""The merge shape of a structural schema."""

from __future__ import annotations

from seamark_cluster.embedded.builtin.goshapes import shape_of
from seamark_cluster.embedded.custom.structural import Structural
from seamark_cluster.embedded.machinery.shapes import DEDUCED_SHAPE, LEAF_SHAPE, MAP, Shape, list_of


def shape(node: Structural) -> Shape:
    if node.schema.get("x-kubernetes-int-or-string"):
        return LEAF_SHAPE
    if node.items is not None:
        return _list_shape(node)
    if not (node.properties or node.additional or node.preserve):
        return LEAF_SHAPE if node.types != ("object",) else DEDUCED_SHAPE
    if node.schema.get("x-kubernetes-map-type") == "atomic":
        return LEAF_SHAPE
    if node.preserve and not node.properties:
        return DEDUCED_SHAPE
    made = Shape(MAP)
    made.fields = {name: shape(child) for name, child in node.properties.items()}
    made.item = shape(node.additional) if node.additional else None
    return made


def _list_shape(node: Structural) -> Shape:
    assert node.items is not None
    if node.list_type == "set":
        return list_of(LEAF_SHAPE)
    if node.list_type == "map":
        defaults = {key: node.key_default(key) for key in node.keys}
        return list_of(shape(node.items), node.keys, {key: item for key, item in defaults.items() if item is not None})
    return LEAF_SHAPE


def root_shape(node: Structural) -> Shape:
    made = shape(node)
    if made.kind is not MAP:
        made = Shape(MAP)
        made.item = DEDUCED_SHAPE
    made.fields = {
        **made.fields,
        "apiVersion": LEAF_SHAPE,
        "kind": LEAF_SHAPE,
        "metadata": shape_of("meta/v1.ObjectMeta"),
    }
    return made
