"""Content negotiation: whole objects, tables, or metadata only; as JSON or as YAML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from seamark_cluster.embedded.machinery.errors import ApiError

Json = dict[str, Any]
JSON, YAML = "application/json", "application/yaml"
READABLE = ("application/json", "application/vnd.kubernetes.protobuf", "application/*", "*/*")
"""Clients that accept one of these get JSON, which all clients of protobuf and CBOR accept too."""
META = "meta.k8s.io/v1"


@dataclass(frozen=True)
class Form:
    """`shape` is empty for whole objects, else Table, PartialObjectMetadata or PartialObjectMetadataList."""

    media_type: str = JSON
    shape: str = ""

    @property
    def table(self) -> bool:
        return self.shape == "Table"

    @property
    def metadata(self) -> bool:
        return self.shape.startswith("PartialObjectMetadata")


def wanted(accept: str) -> Form:
    """The first supported form that the client accepts; 406 if there is none."""
    for choice in accept.split(","):
        media_type, *parameters = (part.strip() for part in choice.split(";"))
        named = dict(part.split("=", 1) for part in parameters if "=" in part)
        shape = named.get("as", "")
        if shape and (shape not in SHAPES or named.get("v") != "v1"):
            continue
        if media_type in (YAML, "text/yaml"):
            return Form(YAML, shape)
        if media_type in READABLE:
            return Form(JSON, shape)
    message = "only the following media types are accepted: application/json, application/yaml"
    raise ApiError(406, "NotAcceptable", message)


SHAPES = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


def metadata_of(document: Json) -> Json:
    """An object or a list with metadata only."""
    if document.get("kind", "").endswith("List") and "items" in document:
        items = [metadata_of(item) for item in document["items"]]
        meta = document.get("metadata", {})
        return {"kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": meta, "items": items}
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": document.get("metadata", {})}


def metadata_event(line: bytes) -> bytes:
    event = msgspec.json.decode(line)
    if event["type"] != "ERROR":
        event["object"] = metadata_of(event["object"])
    return msgspec.json.encode(event) + b"\n"


def as_yaml(document: Any) -> bytes:
    return yaml.safe_dump(document, sort_keys=True).encode()
