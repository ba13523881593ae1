"""Joins the Go types with facts that only the OpenAPI documents have (list keys, enums), and writes `types.json`.

    go run . > go-types.json
    python join.py go-types.json openapi-*.json > ../types.json

The OpenAPI documents are those that an API server of the same version serves under /openapi/v3/<group>/<version>.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
_ZERO: tuple[Any, ...] = ("", 0, {}, False, None, [])


def openapi_name(name: str) -> str:
    package, _, kind = name.rpartition(".")
    if package == "meta/v1":
        return f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"
    if package == "apiextensions/v1":
        return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{kind}"
    return f"io.k8s.api.{package.replace('/', '.')}.{kind}"


def join(types: dict[str, Json], schemas: dict[str, Json]) -> dict[str, Json]:
    joined = {}
    for name, fields in sorted(types.items()):
        schema = schemas.get(openapi_name(name), {})
        entry: Json = {"fields": fields}
        if schema.get("x-kubernetes-map-type") == "atomic":
            entry["atomic"] = True
        if schema.get("required"):
            entry["required"] = sorted(schema["required"])
        for field, description in fields.items():
            annotate(description, schema.get("properties", {}).get(field, {}))
        joined[name] = entry
    return joined


def annotate(description: Json, prop: Json) -> None:
    for short, long in (("lt", "list-type"), ("lk", "list-map-keys"), ("mt", "map-type")):
        if prop.get(f"x-kubernetes-{long}"):
            description[short] = prop[f"x-kubernetes-{long}"]
    if prop.get("default") not in _ZERO:
        description["d"] = prop["default"]
    if "enum" in prop:
        description["e"] = prop["enum"]


def main(types_path: str, *openapi_paths: str) -> None:
    schemas: dict[str, Json] = {}
    for path in openapi_paths:
        schemas.update(json.loads(Path(path).read_text())["components"]["schemas"])
    joined = join(json.loads(Path(types_path).read_text()), schemas)
    lines = [
        f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'), sort_keys=True)}"
        for name, entry in joined.items()
    ]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
