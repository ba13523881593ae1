"""Errors as the API server returns them: a `Status` document per kind of error, and the field errors inside one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """A refused request, with the `Status` document for the client and its code."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.list_metadata: Json = {}

    def document(self) -> Json:
        document: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.list_metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details is not None:
            document["details"] = {key: value for key, value in self.details.items() if value}
        document["code"] = self.code
        if not self.reason:
            del document["reason"]
        return document


def quoted(text: str) -> str:
    """A string as Go's %q writes it."""
    return json.dumps(text, ensure_ascii=False)


def compact(value: Any) -> str:
    """A value as Go's encoding/json writes it: keys of maps sorted, no spaces, and <, > and & escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(group: str, name: str) -> str:
    return f"{name}.{group}" if group else name


def not_found(group: str, resource: str, name: str) -> ApiError:
    message = f"{_resource(group, resource)} {quoted(name)} not found"
    return ApiError(404, "NotFound", message, {"name": name, "group": group, "kind": resource})


def no_such_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(group: str, resource: str, name: str, *, going: bool = False) -> ApiError:
    message = (
        f"{'object is being deleted: ' if going else ''}{_resource(group, resource)} {quoted(name)} already exists"
    )
    return ApiError(409, "AlreadyExists", message, {"name": name, "group": group, "kind": resource})


def conflict(group: str, resource: str, name: str, why: str) -> ApiError:
    message = f"Operation cannot be fulfilled on {_resource(group, resource)} {quoted(name)}: {why}"
    return ApiError(409, "Conflict", message, {"name": name, "group": group, "kind": resource})


def forbidden(group: str, resource: str, name: str, why: str, causes: list[Json] | None = None) -> ApiError:
    subject = _resource(group, resource) + (f" {quoted(name)}" if name else "")
    details: Json = {"name": name, "group": group, "kind": resource, "causes": causes}
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {why}", details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def internal(message: str) -> ApiError:
    details: Json = {"causes": [{"message": message}]}
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", details)


def not_supported(group: str, resource: str, action: str) -> ApiError:
    message = f"{action} is not supported on resources of kind {quoted(_resource(group, resource))}"
    return ApiError(405, "MethodNotAllowed", message, {"group": group, "kind": resource})


def not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def unsupported_media(got: str, accepted: list[str]) -> ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    del got
    return ApiError(415, "UnsupportedMediaType", message)


def too_large_version(requested: int, current: int) -> ApiError:
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})


@dataclass(frozen=True, slots=True)
class FieldError:
    """One reason why an object is invalid: the field, the type of error, and the message."""

    kind: str
    path: str
    body: str

    def cause(self) -> Json:
        return {"reason": self.kind, "message": self.body, "field": self.path}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    return compact(value)


def _with_value(title: str, value: Any, detail: str) -> str:
    return f"{title}: {_shown(value)}" + (f": {detail}" if detail else "")


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", path, _with_value("Invalid value", value, detail))


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", path, _with_value("Invalid value", value, detail))


def required(path: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", path, "Required value" + (f": {detail}" if detail else ""))


def field_forbidden(path: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", path, f"Forbidden: {detail}")


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", path, _with_value("Duplicate value", value, ""))


def unsupported(path: str, value: Any, supported: list[str]) -> FieldError:
    detail = "supported values: " + ", ".join(quoted(item) for item in supported)
    return FieldError("FieldValueNotSupported", path, _with_value("Unsupported value", value, detail))


def too_long(path: str, limit: int, unit: str = "byte") -> FieldError:
    plural = "" if limit == 1 else "s"
    return FieldError("FieldValueTooLong", path, f"Too long: may not be more than {limit} {unit}{plural}")


def too_many(path: str, count: int, limit: int) -> FieldError:
    items = "item" if limit == 1 else "items"
    body = f"Too many: {count}: must have at most {limit} {items}"
    return FieldError("FieldValueTooMany", path, body)


def field_not_found(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", path, _with_value("Not found", value, ""))


def invalid_object(group: str, kind: str, name: str, errors: list[FieldError]) -> ApiError:
    lines = list(dict.fromkeys(f"{error.path}: {error.body}" for error in errors))
    shown = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    message = f"{_resource(group, kind)} {quoted(name)} is invalid: {shown}"
    details: Json = {"name": name, "group": group, "kind": kind, "causes": [error.cause() for error in errors]}
    return ApiError(422, "Invalid", message, details)
