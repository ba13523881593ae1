"""Bodies of requests: from bytes to an object of the right kind, or a refusal that says what is wrong with them."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from seamark.cluster.embedded.calls import Call
from seamark.cluster.embedded.kinds import Kind
from seamark.cluster.embedded.status import Json, bad_request, unsupported_media

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def media_type(call: Call) -> str:
    return call.content_type.partition(";")[0].strip()


def decode(body: bytes, content_type: str) -> Any:
    """The value that a body holds."""
    if "yaml" in content_type and not body.lstrip().startswith((b"{", b"[")):
        try:
            return yaml.safe_load(body)
        except yaml.YAMLError as error:
            raise bad_request(f"error decoding YAML: {error}") from None
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None


def document(call: Call) -> Json:
    """The object a create or update sends."""
    media = media_type(call)
    if media not in (JSON, "application/yaml", "", "*/*"):
        raise unsupported_media(
            media, ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"]
        )
    found = decode(call.body, media)
    if not isinstance(found, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {call.kind.names.kind})")
    return call.kind.recognised(sensible(found))


def sensible(found: Json) -> Json:
    """A document whose first words can be read: apiVersion and kind are text, metadata is an object."""
    for field, kind, shown in (("apiVersion", str, "string"), ("kind", str, "string"), ("metadata", dict, "object")):
        if not isinstance(found.get(field, kind()), kind) and found.get(field) is not None:
            raise bad_request(f"couldn't get version/kind; json parse error: {field} must be of type {shown}")
    return {
        key: value for key, value in found.items() if value is not None or key not in ("apiVersion", "kind", "metadata")
    }


def read(call: Call, found: Json, kind: Kind | None = None) -> Json:
    """The object, with unknown fields treated as the request asks: an error, a warning, or nothing."""
    kind = kind or call.kind
    unknown: list[str] = []
    obj = kind.read(found, unknown)
    if unknown:
        complain(call, unknown)
    return obj


def complain(call: Call, unknown: list[str]) -> None:
    """Unknown fields are a warning unless the request wants them to be an error, or wants silence."""
    names = call.kind.names
    listed = [f'unknown field "{name}"' for name in sorted(unknown)]
    match call.option("fieldValidation") or "Warn":
        case "Strict":
            sentence = "strict decoding error: " + ", ".join(listed)
            raise bad_request(
                f'{names.kind} in version "{names.version}" cannot be handled as a {names.kind}: {sentence}'
            )
        case "Warn":
            call.warnings.extend(listed)
