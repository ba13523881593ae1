"""Request bodies: from bytes to an object of the right kind, or an error that names the problem."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import Json, bad_request, unsupported_media
from seamark_cluster.embedded.machinery.kinds import Kind
from seamark_runtime.untrusted.decoding import Limits, Malformed, check_json, decode_plain_json, decode_yaml

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
LONG_NUMBER = re.compile(rb"[0-9]{19}")
LIMITS = Limits(depth=100)  # all later steps recurse over the object; no kind has half as many levels


def media_type(call: Call) -> str:
    return call.content_type.partition(";")[0].strip()


def decode(body: bytes, content_type: str) -> Any:
    """The value of a body."""
    found = _decoded(body, content_type)
    return _with_numbers(found) if LONG_NUMBER.search(body) else found


def _with_numbers(value: Any) -> Any:
    """Integers that do not fit into 64 bits become floats, as in Kubernetes; other clients could not read them."""
    if isinstance(value, dict):
        return {key: _with_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_numbers(each) for each in value]
    if not isinstance(value, int) or -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        raise bad_request("the object provided is unrecognized: a number has more digits than can be read") from None


def _decoded(body: bytes, content_type: str) -> Any:
    if "yaml" in content_type and not body.lstrip().startswith((b"{", b"[")):
        try:
            return decode_yaml(body, LIMITS)
        except Malformed as error:
            raise bad_request(f"error decoding YAML: {error}") from None
    try:
        return decode_plain_json(body, LIMITS)
    except Malformed as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None


def check_depth(patched: Any) -> None:
    """A JSON patch can add a value at any path, so the result may have more levels than object and patch."""
    try:
        check_json(msgspec.json.encode(patched), LIMITS)
    except (Malformed, RecursionError) as error:
        raise bad_request(f"the patched object has {error}") from None


def document(call: Call) -> Json:
    """The object of a create or update."""
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
    """A document whose apiVersion and kind are strings, and whose metadata is an object."""
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
        report_unknown(call, unknown)
    return obj


def report_unknown(call: Call, unknown: list[str]) -> None:
    """Unknown fields are a warning, unless the request asks for an error or for no message."""
    names = call.kind.names
    listed = [f'unknown field "{name}"' for name in sorted(unknown)]
    match call.option("fieldValidation") or "Warn":
        case "Strict":
            message = "strict decoding error: " + ", ".join(listed)
            raise bad_request(
                f'{names.kind} in version "{names.version}" cannot be handled as a {names.kind}: {message}'
            )
        case "Warn":
            call.warnings.extend(listed)
