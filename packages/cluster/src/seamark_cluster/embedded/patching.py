"""The PATCH verb: four kinds of patch, one path into the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from seamark_cluster.embedded import bodies, managed
from seamark_cluster.embedded.builtin.kind import BuiltinKind
from seamark_cluster.embedded.builtin.strategic import StrategicError, strategic_patch
from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import (
    ApiError,
    Json,
    bad_request,
    compact,
    conflict,
    invalid,
    invalid_object,
    unsupported_media,
)
from seamark_cluster.embedded.machinery.fieldsets import Trie
from seamark_cluster.embedded.managed import Writer
from seamark_cluster.embedded.patches import PatchError, json_patch, merge_patch
from seamark_cluster.embedded.writes import Writes, nameless
from seamark_runtime.clock import timestamp


class Patching:
    """Patches objects: the patched live object is processed like an update."""

    def __init__(self, writes: Writes, now: Callable[[], datetime]) -> None:
        self._writes = writes
        self._now = now

    def patch(self, call: Call) -> tuple[Json, bool]:
        media = bodies.media_type(call)
        if media == bodies.APPLY:
            return self._apply(call)
        accepted = [bodies.JSON_PATCH, bodies.MERGE]
        if isinstance(call.kind, BuiltinKind):
            accepted.append(bodies.STRATEGIC)
        if media not in accepted:
            if isinstance(call.kind, BuiltinKind):
                raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
            raise unsupported_media(media, [*accepted, bodies.APPLY])
        if call.option("force") is not None:
            raise _force_only_for_apply()
        old = self._writes.live(call)
        if old is None:
            raise self._writes.missing(call)
        patched = self._patched(call, media, old)
        new = self._read(call, patched)
        self._check_identity(call, new)
        new = self._writes.claimed(call, old, new, new["metadata"].get("managedFields"))
        return self._writes.replace(call, new, old), False

    def _patched(self, call: Call, media: str, old: Json) -> Json:
        patch = bodies.decode(call.body, media)
        try:
            if media == bodies.JSON_PATCH:
                patched = json_patch(old, patch)
                bodies.check_depth(patched)
            else:
                if not isinstance(patch, dict):
                    raise PatchError(
                        "json: cannot unmarshal array into Go value of type map[string]interface {}", malformed=True
                    )
                if media == bodies.MERGE:
                    patched = merge_patch(old, patch)
                else:
                    assert isinstance(call.kind, BuiltinKind)
                    patched = strategic_patch(call.kind.struct, old, patch)
        except PatchError as error:
            if error.malformed:
                raise bad_request(f"error decoding patch: {error}") from None
            message = "the server rejected our request due to an error in our request"
            raise ApiError(422, "Invalid", message, {}) from None
        except StrategicError as error:
            raise bad_request(str(error)) from None
        if not isinstance(patched, dict):
            raise bad_request("the patched object is not an object")
        return call.kind.recognised(bodies.sensible(patched))

    @staticmethod
    def _read(call: Call, patched: Json) -> Json:
        """The patched object. Unknown fields are an error of the patch, and reported as one."""
        unknown: list[str] = []
        try:
            new = call.kind.read(patched, unknown)
        except ApiError as error:
            raise invalid_object("", "", "", [invalid("patch", compact(patched), error.message)]) from None
        if unknown and call.option("fieldValidation") == "Strict":
            listed = ", ".join(f'unknown field "{name}"' for name in sorted(unknown))
            raise invalid_object("", "", "", [invalid("patch", compact(patched), f"strict decoding error: {listed}")])
        if unknown:
            bodies.report_unknown(call, unknown)
        return new

    def _check_identity(self, call: Call, new: Json) -> None:
        self._check_name(call, new)
        meta = new["metadata"]
        if meta.get("namespace", "") != (call.namespace if call.kind.names.namespaced else ""):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

    @staticmethod
    def _check_name(call: Call, new: Json) -> None:
        name = new["metadata"].get("name", "")
        if name != call.name:
            raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")

    # --- server-side apply

    def _apply(self, call: Call) -> tuple[Json, bool]:
        if not call.option("fieldManager"):
            raise _manager_required()
        config = bodies.decode(call.body, bodies.APPLY)
        if not isinstance(config, dict):
            raise bad_request("error decoding YAML: the applied configuration is not an object")
        config = bodies.sensible(config)
        self._check_config(call, config)
        old = self._writes.live(call)
        if old is None and call.subresource and not call.kind.policy.create_on_update:
            raise self._writes.missing(call)
        if old is None:
            return self._apply_new(call, config), True
        applied = self._merged(call, config, old, managed.decode(old["metadata"].get("managedFields")))
        if not applied["metadata"].get("name"):  # a manager that owned all of the metadata, and sends none, gives it up
            raise nameless(call.name)
        self._check_name(call, applied)
        return self._writes.replace(call, applied, old), False

    def _check_config(self, call: Call, config: Json) -> None:
        names = call.kind.names
        api_version, kind = config.get("apiVersion", ""), config.get("kind", "")
        if (api_version, kind) != (names.api_version, names.kind):
            group, _, version = api_version.rpartition("/")
            raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
        meta = config.get("metadata") or {}
        if meta.get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        if names.namespaced and meta.get("namespace", call.namespace) != call.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

    def _apply_new(self, call: Call, config: Json) -> Json:
        meta = config.get("metadata") or {}
        names = call.kind.names
        if meta.get("uid"):
            why = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
            raise conflict(names.group, names.plural, call.name, why)
        new = self._merged(call, config, call.kind.empty(), {})
        if not meta.get("name"):
            raise nameless(call.name)
        self._check_name(call, new)
        if names.namespaced:
            new["metadata"]["namespace"] = call.namespace
        new["metadata"].pop("resourceVersion", None)
        return self._writes.insert(call, new)

    def _merged(self, call: Call, config: Json, old: Json, entries: managed.Entries) -> Json:
        kind = call.kind
        now = timestamp(self._now())
        if not entries and old["metadata"].get("uid"):
            before = Writer("before-first-apply", "Update", kind.names.api_version, call.subresource)
            entries = managed.after_update(kind.shape, {}, kind.empty(), old, (before, now, self._resets(call)))
        live = {**old, "metadata": {key: item for key, item in old["metadata"].items() if key != "managedFields"}}
        self._report_untyped(call, config)
        writer = Writer(call.manager, "Apply", kind.names.api_version, call.subresource)
        force = call.option("force") in ("true", "1")
        applied = managed.apply(kind.shape, entries, live, config, (writer, now, self._resets(call), force))
        new = kind.read(applied.document, [])
        new["metadata"].pop("managedFields", None)
        if applied.entries:
            new["metadata"]["managedFields"] = managed.encode(applied.entries)
        return new

    @staticmethod
    def _report_untyped(call: Call, config: Json) -> None:
        problem = call.kind.misfit(config)
        if problem:
            names, meta = call.kind.names, config.get("metadata") or {}
            where = (
                f"{meta.get('namespace', '')}/{meta.get('name', '')}; {names.group}/{names.version}, Kind={names.kind}"
            )
            raise ApiError(500, "", f"failed to create typed patch object ({where}): {problem}")

    @staticmethod
    def _resets(call: Call) -> Trie:
        policy = call.kind.policy
        return (policy.reset_status if call.subresource == "status" else policy.reset) or {}


def _manager_required() -> ApiError:
    cause = {
        "reason": "FieldValueRequired",
        "message": "Required value: is required for apply patch",
        "field": "fieldManager",
    }
    details = {"group": "meta.k8s.io", "kind": "PatchOptions", "causes": [cause]}
    message = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    return ApiError(422, "Invalid", message, details)


def _force_only_for_apply() -> ApiError:
    cause = {
        "reason": "FieldValueForbidden",
        "message": "Forbidden: may not be specified for non-apply patch",
        "field": "force",
    }
    details = {"group": "meta.k8s.io", "kind": "PatchOptions", "causes": [cause]}
    message = 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
    return ApiError(422, "Invalid", message, details)
