"""Structural schemas (the subset of OpenAPI that a CustomResourceDefinition takes) from wire types.

| in Python                                     | in the schema                                              |
|-----------------------------------------------|------------------------------------------------------------|
| a field without a default                     | required; nullable if its type allows None                 |
| a field with a default that is empty          | optional: "", 0, False, (), None mean "not set"            |
| a field with any other default                | optional, and the API server fills the default in          |
| a struct as default                           | the defaults inside it, if there are any                   |
| `dict[str, T]`, `Any`, `int | str`            | a map, free form, int-or-string                            |
| a struct's docstring, `Meta(description=…)`   | description                                                |
| `Meta(ge=…, max_length=…, pattern=…)`         | the same limits, checked by the API server                 |
| `Meta(extra_json_schema={…})`                 | put over what was generated, so it has the last word       |
| `RULES` of a struct                           | CEL rules of that object                                   |
| a tuple of `Condition`                        | a list map by type                                         |
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Meta
from msgspec import inspect as types

from seamark_runtime.api.meta import Condition

Schema = dict[str, Any]
FREE_FORM = "x-kubernetes-preserve-unknown-fields"
LIST_TYPE = "x-kubernetes-list-type"

ATOMIC = Meta(extra_json_schema={LIST_TYPE: "atomic"})
SET = Meta(extra_json_schema={LIST_TYPE: "set"})


def map_by(*keys: str) -> Meta:
    """A list whose entries are known by these fields, so that several writers can share it."""
    return Meta(extra_json_schema={LIST_TYPE: "map", "x-kubernetes-list-map-keys": list(keys)})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule in CEL that the API server checks, with what it tells the user who breaks it.

    `self` in the rule is the object whose class lists it in `RULES`; `field_path` (".a.b", below that object) says
    which field the message is about. A rule that names `oldSelf` is asked on updates only.
    """

    rule: str
    message: str
    message_expression: str = ""
    field_path: str = ""
    reason: str = ""

    def wire(self) -> Schema:
        optional = {"rule": self.rule, "message": self.message, "messageExpression": self.message_expression}
        optional |= {"fieldPath": self.field_path, "reason": self.reason}
        return {key: value for key, value in optional.items() if value}


def checked(*rules: Rule) -> Meta:
    """For a field that is no struct of ours: its rules; `self` is the field's value."""
    return Meta(extra_json_schema={"x-kubernetes-validations": [rule.wire() for rule in rules]})


class NotStructural(TypeError):
    """A type that no structural schema can describe: says where it is and why."""


def structural(kind: type[msgspec.Struct]) -> Schema:
    """The schema of a struct, references resolved."""
    return _Walk(()).schema(types.type_info(kind))


@dataclasses.dataclass(frozen=True)
class _Walk:
    """A place in a tree of types; `path` are the structs around it, the names of fields between them."""

    path: tuple[type | str, ...]

    def schema(self, node: types.Type) -> Schema:  # noqa: PLR0911 - one answer for each form of type
        match node:
            case types.Metadata():
                return self._with_metadata(node)
            case types.StructType():
                return self._struct(node)
            case types.ListType() | types.VarTupleType() | types.SetType() | types.FrozenSetType():
                return self._list(node)
            case types.DictType():
                return self._map(node)
            case types.UnionType():
                return self._union(node)
            case types.EnumType():
                return self._values([member.value for member in node.cls])
            case types.LiteralType():
                return self._values(list(node.values))
            case _:
                return self._scalar(node)

    def _with_metadata(self, node: types.Metadata) -> Schema:
        extra = node.extra_json_schema or {}
        if extra.get(FREE_FORM) and any(isinstance(kind, types.StructType) for kind in _without_null(node.type)):
            return {"type": "object", **extra}  # its content belongs to another API: not described
        return {**self.schema(node.type), **extra}

    def _struct(self, node: types.StructType) -> Schema:
        if node.cls in self.path:
            raise self._error(f"{node.cls.__name__} contains itself; end it with {FREE_FORM}")
        schema: Schema = {"type": "object"}
        if node.cls.__doc__:
            schema["description"] = inspect.cleandoc(node.cls.__doc__)
        if required := [field.encode_name for field in node.fields if field.required]:
            schema["required"] = required
        schema["properties"] = {
            field.encode_name: _Walk((*self.path, node.cls, field.encode_name)).field(field) for field in node.fields
        }
        rules: Sequence[Rule] = getattr(node.cls, "RULES", ())
        if rules:
            schema["x-kubernetes-validations"] = [rule.wire() for rule in rules]
        return schema

    def field(self, field: types.Field) -> Schema:
        schema = self.schema(field.type)
        if field.required:
            return schema
        schema.pop("nullable", None)  # None is how Python leaves it out
        if "default" not in schema and (default := _default(field, schema)) is not None:
            schema["default"] = default
        return schema

    def _list(self, node: types.ListType | types.VarTupleType | types.SetType | types.FrozenSetType) -> Schema:
        schema: Schema = {"type": "array", "items": self.schema(node.item_type)}
        if isinstance(node, types.SetType | types.FrozenSetType):
            schema[LIST_TYPE] = "set"
        if isinstance(node.item_type, types.StructType) and issubclass(node.item_type.cls, Condition):
            schema |= {LIST_TYPE: "map", "x-kubernetes-list-map-keys": ["type"]}
        return schema | _limits(minItems=node.min_length, maxItems=node.max_length)

    def _map(self, node: types.DictType) -> Schema:
        values = self.schema(node.value_type)
        schema: Schema = {"type": "object"}
        schema |= {FREE_FORM: True} if values == {FREE_FORM: True} else {"additionalProperties": values}
        return schema | _limits(minProperties=node.min_length, maxProperties=node.max_length)

    def _union(self, node: types.UnionType) -> Schema:
        kinds = _without_null(node)
        optional: Schema = {"nullable": True} if len(kinds) < len(node.types) else {}
        if len(kinds) == 1:
            return self.schema(kinds[0]) | optional
        if {type(kind) for kind in kinds} == {types.IntType, types.StrType}:
            return {"x-kubernetes-int-or-string": True, **optional}
        raise self._error("one of several types, which a structural schema can't say")

    def _values(self, values: list[Any]) -> Schema:
        kind = {str: "string", int: "integer"}.get(type(values[0]))
        if kind is None or len({type(value) for value in values}) > 1:
            raise self._error("values that are neither all strings nor all integers")
        return {"type": kind, "enum": sorted(values)}

    def _scalar(self, node: types.Type) -> Schema:  # noqa: PLR0911 - one answer for each form of type
        match node:
            case types.AnyType() | types.RawType():
                return {FREE_FORM: True}
            case types.BoolType():
                return {"type": "boolean"}
            case types.StrType():
                lengths = _limits(minLength=node.min_length, maxLength=node.max_length, pattern=node.pattern)
                return {"type": "string", **lengths}
            case types.IntType():
                return {"type": "integer", "format": "int64", **_range(node)}
            case types.FloatType():
                return {"type": "number", **_range(node)}
            case types.DateTimeType():
                return {"type": "string", "format": "date-time"}
            case types.BytesType():
                return {"type": "string", "format": "byte"}
        raise self._error(f"{type(node).__name__}, which a structural schema can't say")

    def _error(self, what: str) -> NotStructural:
        place = ".".join(part if isinstance(part, str) else f"({part.__name__})" for part in self.path)
        return NotStructural(f"{place or 'the type itself'}: {what}")


def _without_null(node: types.Type) -> list[types.Type]:
    """The type of a set value: the type, or those of a union, without None."""
    kinds = node.types if isinstance(node, types.UnionType) else (node,)
    return [kind for kind in kinds if not isinstance(kind, types.NoneType)]


def _limits(**limits: Any) -> Schema:
    return {name: limit for name, limit in limits.items() if limit is not None}


def _range(node: types.IntType | types.FloatType) -> Schema:
    low = node.ge if node.ge is not None else node.gt
    high = node.le if node.le is not None else node.lt
    limits = _limits(minimum=low, maximum=high, multipleOf=node.multiple_of)
    exclusive = {"exclusiveMinimum": node.gt is not None, "exclusiveMaximum": node.lt is not None}
    return limits | {name: True for name, excluded in exclusive.items() if excluded}


def _default(field: types.Field, schema: Mapping[str, Any]) -> Any:
    """What the API server shall fill in; None for nothing."""
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    if isinstance(value, msgspec.Struct):
        # With what is filled in inside: the API server asks a default whether it keeps the rules before filling it in.
        return {**_filled_in(schema), **msgspec.to_builtins(value)} or None
    return msgspec.json.decode(msgspec.json.encode(value)) if value else None  # a tuple is a list on the wire


def _filled_in(schema: Mapping[str, Any]) -> Schema:
    inner: Mapping[str, Schema] = schema.get("properties", {})
    return {name: field["default"] for name, field in inner.items() if "default" in field}
