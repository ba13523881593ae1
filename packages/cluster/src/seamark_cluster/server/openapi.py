"""OpenAPI v3: the schemas of all kinds, for `kubectl explain` and for client-side validation."""

from __future__ import annotations

from typing import Any

from seamark_cluster.embedded.builtin.gotypes import table
from seamark_cluster.embedded.builtin.kind import BuiltinKind
from seamark_cluster.embedded.custom.kind import CustomKind
from seamark_cluster.embedded.machinery.kinds import Kind
from seamark_cluster.embedded.registry import Registry
from seamark_cluster.server.discovery import groups_of

# kubectl requests the v2 document when the v3 one lacks a kind: it may be empty, but it has to exist. It is
# protobuf: 1 is the version of the format, 2 has title and version, 8 the paths.
EMPTY_V2 = b"\n\x032.0" + b"\x12\x15" + b"\n\nKubernetes" + b"\x12\x07v1.36.3" + b"B\x00"
V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
Json = dict[str, Any]
META = "meta/v1.ObjectMeta"
SCALARS: dict[str, Json] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "quantity": {"type": "string"},
    "intstr": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
}


class OpenApi:
    """Serves /openapi/v3 and below, computed from the current kinds."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def answer(self, path: str) -> Json | None:
        if not path.startswith("/openapi/v3"):
            return None
        groups = groups_of(self._registry)
        places = {
            _place(group, version): kinds for group, versions in groups.items() for version, kinds in versions.items()
        }
        if path == "/openapi/v3":
            return {"paths": {place: {"serverRelativeURL": f"/openapi/v3/{place}"} for place in places}}
        kinds = places.get(path.removeprefix("/openapi/v3/"))
        return None if kinds is None else document(kinds)


def _place(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def document(kinds: list[Kind]) -> Json:
    schemas: Json = {}
    paths: Json = {}
    for kind in kinds:
        names = kind.names
        identity = {"group": names.group, "version": names.version, "kind": names.kind}
        schemas[_schema_name(kind)] = {**_schema(kind, schemas), "x-kubernetes-group-version-kind": [identity]}
        paths[_path(kind)] = {"get": _operation("list", identity)}
        paths[f"{_path(kind)}/{{name}}"] = {"get": _operation("get", identity), "patch": _operation("patch", identity)}
    info = {"title": "Kubernetes", "version": "v1.36.3"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _operation(action: str, identity: Json) -> Json:
    parameters = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
    return {
        "parameters": parameters if action == "patch" else [],  # shows kubectl that the server validates
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": identity,
    }


def _path(kind: Kind) -> str:
    names = kind.names
    root = f"/apis/{names.group}/{names.version}" if names.group else f"/api/{names.version}"
    return f"{root}/namespaces/{{namespace}}/{names.plural}" if names.namespaced else f"{root}/{names.plural}"


def _schema_name(kind: Kind) -> str:
    if isinstance(kind, BuiltinKind):
        return _type_name(kind.struct)
    group = ".".join(reversed(kind.names.group.split(".")))
    return f"{group}.{kind.names.version}.{kind.names.kind}"


def _schema(kind: Kind, schemas: Json) -> Json:
    if isinstance(kind, BuiltinKind):
        return _struct(kind.struct, schemas)
    if isinstance(kind, CustomKind):
        schema = dict(kind.structural.schema)
        properties = {**schema.get("properties", {}), "metadata": _ref(META, schemas)}
        for name in ("apiVersion", "kind"):
            properties.setdefault(name, {"type": "string"})
        return {**schema, "properties": properties}
    return {"type": "object"}


def _struct(name: str, schemas: Json) -> Json:
    described = table()[name]
    properties = {field: _field(item, schemas) for field, item in described["fields"].items()}
    required = described.get("required")
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _field(described: Json, schemas: Json) -> Json:
    match described["t"]:
        case "struct":
            return _ref(described["s"], schemas)
        case "list":
            schema: Json = {"type": "array", "items": _field(described["of"], schemas)}
            if "lt" in described:
                schema["x-kubernetes-list-type"] = described["lt"]
            if "lk" in described:
                schema["x-kubernetes-list-map-keys"] = described["lk"]
            return schema
        case "map":
            return {"type": "object", "additionalProperties": _field(described["of"], schemas)}
        case scalar:
            return dict(SCALARS.get(scalar, {}))


def _ref(struct: str, schemas: Json) -> Json:
    name = _type_name(struct)
    if name not in schemas:
        schemas[name] = {}  # first, as types may contain themselves
        schemas[name] = _struct(struct, schemas)
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}], "default": {}}


def _type_name(struct: str) -> str:
    package, _, name = struct.partition(".")
    prefix = "io.k8s.apimachinery.pkg.apis" if package.startswith("meta/") else "io.k8s.api"
    return f"{prefix}.{package.replace('/', '.')}.{name}"
