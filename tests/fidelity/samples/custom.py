"""Two custom kinds: one with a strict schema and a status, one that accepts everything."""

from __future__ import annotations

from tests.fidelity.samples.base import Json, Sample

WIDGET = Sample(
    "example.com/v1",
    "Widget",
    "widgets",
    {"spec": {"color": "red", "tags": ["a", "b"], "ports": [{"name": "x", "port": 1}, {"name": "y", "port": 2}]}},
    {
        "size": {"spec": {"size": 5}},
        "tags": {"spec": {"tags": ["b", "c"]}},
        "ports": {"spec": {"ports": [{"name": "y", "port": 3}, {"name": "z", "port": 4}]}},
        "options": {"spec": {"options": {"a": "1", "b": "2"}}},
        "option": {"spec": {"options": {"a": None}}},
        "extra": {"spec": {"extra": {"deep": {"x": 1, "y": [1, 2]}}}},
        "box": {"spec": {"box": {"width": 2, "height": 3}}},
        "null-default": {"spec": {"size": None}},
        "mode-int": {"spec": {"mode": 7}},
        "mode-text": {"spec": {"mode": "seven"}},
        "grow": {"spec": {"limit": 9}},
    },
    {
        "too-big": {"spec": {"size": 11}},
        "too-small": {"spec": {"size": 0}},
        "type": {"spec": {"size": "x"}},
        "enum": {"spec": {"color": "blue"}},
        "long": {"spec": {"title": "abcdef"}},
        "pattern": {"spec": {"title": "A"}},
        "same-tags": {"spec": {"tags": ["a", "a"]}},
        "same-ports": {"spec": {"ports": [{"name": "x", "port": 1}, {"name": "x", "port": 2}]}},
        "required": {"spec": {"color": None}},
        "item": {"spec": {"ports": [{"name": "x"}]}},
        "map-value": {"spec": {"options": {"a": 1}}},
        "many": {"spec": {"tags": ["a", "b", "c", "d", "e", "f"]}},
        "when": {"spec": {"when": "yesterday"}},
        "one-of": {"spec": {"choice": {"a": "1", "b": "2"}}},
        "no-object": {"spec": "x"},
        "rule": {"spec": {"size": 9, "box": {"width": 1, "height": 1}}},
        "nested-rule": {"spec": {"box": {"width": 9, "height": 1}}},
        "shrink": {"spec": {"limit": 1}},
        "kind-of-list": {"spec": {"tags": {"a": "b"}}},
    },
    status={"count": 3, "conditions": [{"type": "Ready", "status": "True", "reason": "Fine"}]},
    bad_status={"count": "x"},
    fields={"spec.color": "red"},
)

GADGET = Sample(
    "example.com/v1",
    "Gadget",
    "gadgets",
    {"spec": {"a": 1}, "status": {"b": 2}},
    {"spec": {"spec": {"a": 2}}, "status": {"status": {"b": 3}}, "any": {"spec": {"x": {"y": ["z"]}}}},
    namespaced=True,
)

_CONDITIONS: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"}},
    },
}

_WIDGET_SPEC: Json = {
    "type": "object",
    "required": ["color"],
    "properties": {
        "size": {"type": "integer", "default": 3, "minimum": 1, "maximum": 10},
        "color": {"type": "string", "maxLength": 9, "enum": ["red", "green"]},
        "title": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
        "tags": {
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "set",
            "items": {"type": "string", "maxLength": 9},
        },
        "ports": {
            "type": "array",
            "maxItems": 9,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name", "port"],
                "properties": {
                    "name": {"type": "string"},
                    "port": {"type": "integer", "format": "int32"},
                    "protocol": {"type": "string", "default": "TCP"},
                },
            },
        },
        "options": {"type": "object", "additionalProperties": {"type": "string"}},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "box": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"width": {"type": "integer"}, "height": {"type": "integer"}},
            "x-kubernetes-validations": [
                {"rule": "self.width <= self.height * 3", "message": "a box is at most three times as wide as high"}
            ],
        },
        "mode": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
        "limit": {
            "type": "integer",
            "default": 5,
            "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "a limit only grows"}],
        },
        "choice": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
    },
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.box) || self.size < 9 || self.box.width > 1",
            "messageExpression": "'a ' + self.color + ' widget of this size needs a wider box'",
            "fieldPath": ".size",
        }
    ],
}


def definitions() -> list[Json]:
    """The custom kinds of the samples."""
    widget_schema = {
        "type": "object",
        "properties": {
            "spec": _WIDGET_SPEC,
            "status": {
                "type": "object",
                "default": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending"}]},
                "properties": {"conditions": _CONDITIONS, "count": {"type": "integer"}},
            },
        },
    }
    gadget_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        _definition("Widget", "widgets", widget_schema, {"status": {}}, [{"jsonPath": ".spec.color"}]),
        _definition("Gadget", "gadgets", gadget_schema, {}, []),
    ]


def _definition(kind: str, plural: str, schema: Json, subresources: Json, selectable: list[Json]) -> Json:
    version: Json = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if subresources:
        version["subresources"] = subresources
    if selectable:
        version["selectableFields"] = selectable
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }
