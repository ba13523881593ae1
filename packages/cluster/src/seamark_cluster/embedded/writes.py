"""Create, update and patch: the path of an object from a request into the store.

The order is the API server's: read, claim fields, admit, prepare, validate, admit again, store. Errors come from the
same step as there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from seamark_cluster.embedded import bodies, managed
from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import (
    ApiError,
    Json,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_object,
    not_found,
)
from seamark_cluster.embedded.machinery.metadata import check_metadata, check_metadata_update
from seamark_cluster.embedded.machinery.names import path_segment
from seamark_cluster.embedded.machinery.revisions import ObjectKey, Revisions
from seamark_cluster.embedded.managed import Writer
from seamark_runtime.clock import timestamp

STALE = "the object has been modified; please apply your changes to the latest version and try again"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def nameless(name: str) -> ApiError:
    return bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


class Admission(Protocol):
    """Admission: mutating before the rules of the kind, validating after them."""

    def mutate(self, call: Call, new: Json, old: Json | None) -> None: ...

    def validate(self, call: Call, new: Json | None, old: Json | None) -> None: ...

    def allocate(self, call: Call, new: Json, old: Json | None) -> None: ...


class Writes:
    """Writes objects.

    - A stored object was validated as a whole, against the one stored before it.
    - An update that changes nothing writes nothing.
    - Time, uids and randomness are injected.
    """

    def __init__(
        self,
        revisions: Revisions,
        admission: Admission,
        now: Callable[[], datetime],
        uid: Callable[[], str],
        chance: random.Random,
    ) -> None:
        self._revisions = revisions
        self._admission = admission
        self._now = now
        self._uid = uid
        self._random = chance

    # --- create

    def create(self, call: Call, document: Json) -> Json:
        obj = bodies.read(call, document)
        self._place(call, obj)
        clear_server_fields(obj["metadata"])
        obj = self.claimed(call, call.kind.empty(), obj, obj["metadata"].get("managedFields"))
        return self.insert(call, obj)

    def insert(self, call: Call, obj: Json) -> Json:
        """Processes a decoded object with its claims, from admission on."""
        kind, meta = call.kind, obj["metadata"]
        self._admission.mutate(call, obj, None)
        clear_server_fields(meta)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._generated(meta["generateName"])
        meta["uid"] = self._uid()
        meta["creationTimestamp"] = timestamp(self._now())
        kind.prepare_create(obj)
        errors = kind.validate_create(obj)
        errors = errors or check_metadata(meta, path_segment, namespaced=kind.names.namespaced)
        if errors:
            raise invalid_object(kind.invalid_group, obj["kind"], meta.get("name", ""), errors)
        call.warnings.extend(kind.warnings(obj))
        self._admission.validate(call, obj, None)
        if not call.subresource:
            self._admission.allocate(call, obj, None)
        key = (meta.get("namespace", ""), meta["name"])
        if meta.get("resourceVersion") and not call.dry_run:
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        existing = self._revisions.get(kind.storage, key)
        if existing is not None:
            going = bool(existing["metadata"].get("deletionTimestamp"))
            raise already_exists(kind.names.group, kind.names.plural, meta["name"], going=going)
        return self._put(call, key, obj)

    def _place(self, call: Call, obj: Json) -> None:
        meta, kind = obj["metadata"], call.kind
        if kind.names.namespaced:
            given = meta.get("namespace", "")
            if given and given != call.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            meta["namespace"] = call.namespace
        else:
            meta.pop("namespace", None)

    def _generated(self, stem: str) -> str:
        suffix = "".join(self._random.choice(_ALPHABET) for _ in range(5))
        return stem[: 63 - 5] + suffix

    def _put(self, call: Call, key: ObjectKey, obj: Json) -> Json:
        if call.dry_run:
            return call.kind.serve(obj)
        return call.kind.serve(self._revisions.write(call.kind.storage, key, call.kind.store(obj)))

    # --- managed fields

    def claimed(self, call: Call, old: Json, new: Json, given: list[Json] | None) -> Json:
        """The object with its claims after an update: the writer's on what changed, all others' on the rest."""
        live = old["metadata"].get("managedFields")
        new["metadata"].pop("managedFields", None)
        if call.subresource:
            given = None
        if given is not None and (not given or given == [{}]):
            entries: managed.Entries = {}
        else:
            entries = managed.decode(given) or managed.decode(live)
        if not entries and old["metadata"].get("uid"):
            return new
        writer = Writer(call.manager, "Update", call.kind.names.api_version, call.subresource)
        write = (writer, timestamp(self._now()), self._resets(call))
        entries = managed.after_update(call.kind.shape, entries, old, new, write)
        if entries:
            new["metadata"]["managedFields"] = managed.encode(entries)
        return new

    @staticmethod
    def _resets(call: Call) -> Any:
        policy = call.kind.policy
        return (policy.reset_status if call.subresource == "status" else policy.reset) or {}

    # --- update

    def live(self, call: Call) -> Json | None:
        stored = self._revisions.get(
            call.kind.storage, (call.namespace if call.kind.names.namespaced else "", call.name)
        )
        return call.kind.live(stored) if stored is not None else None

    def missing(self, call: Call) -> ApiError:
        return not_found(call.kind.names.group, call.kind.names.plural, call.name)

    def update(self, call: Call, document: Json) -> tuple[Json, bool]:
        """Replaces an object. Returns it, and whether this created it."""
        obj = bodies.read(call, document)
        meta = obj["metadata"]
        if not meta.get("name"):
            raise nameless(call.name)
        if meta["name"] != call.name:
            raise bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})"
            )
        self._place(call, obj)
        old = self.live(call)
        if old is None:
            if not call.kind.policy.create_on_update:
                raise self.missing(call)
            if meta.get("uid"):
                why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: "
                raise self._conflict(call, why)
            _check_number(meta.get("resourceVersion", ""))
            if not call.dry_run:
                meta.pop("resourceVersion", None)
            obj = self.claimed(call, call.kind.empty(), obj, meta.get("managedFields"))
            return self.insert(call, obj), True
        uid = meta.get("uid", "")
        if uid and uid != old["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            raise self._conflict(call, why)
        obj = self.claimed(call, old, obj, meta.get("managedFields"))
        return self.replace(call, obj, old), False

    def _conflict(self, call: Call, why: str) -> ApiError:
        return conflict(call.kind.names.group, call.kind.names.plural, call.name, why)

    def replace(self, call: Call, new: Json, old: Json) -> Json:
        """Replaces `old` by `new`, whose fields are already claimed."""
        kind = call.kind
        self._admission.mutate(call, new, old)
        self._check_version(call, new, old)
        meta, old_meta = new["metadata"], old["metadata"]
        self.keep_system_fields(meta, old_meta)
        self._prepare(call, new, old)
        meta = new["metadata"]
        if not meta.get("uid"):
            meta["uid"] = old_meta["uid"]
        errors = check_metadata(meta, path_segment, namespaced=kind.names.namespaced)
        errors += check_metadata_update(meta, old_meta)
        errors += kind.validate_status(new, old) if call.subresource == "status" else kind.validate_update(new, old)
        if errors:
            raise invalid_object(kind.invalid_group, new["kind"], meta.get("name", ""), errors)
        if not call.subresource:
            call.warnings.extend(kind.warnings(new))
        self._admission.validate(call, new, old)
        if not call.subresource:
            self._admission.allocate(call, new, old)
        return self._commit(call, new, old)

    def _prepare(self, call: Call, new: Json, old: Json) -> None:
        if call.subresource == "status":
            call.kind.prepare_status(new, old)
        else:
            call.kind.prepare_update(new, old)

    def _check_version(self, call: Call, new: Json, old: Json) -> None:
        kind, meta = call.kind, new["metadata"]
        version = meta.get("resourceVersion", "")
        _check_number(version)
        if version in ("", "0"):
            if not kind.policy.unconditional_update:
                error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
                raise invalid_object(kind.names.group, kind.names.plural, call.name, [error])
            meta["resourceVersion"] = old["metadata"]["resourceVersion"]
        elif version != old["metadata"]["resourceVersion"]:
            raise self._conflict(call, STALE)

    @staticmethod
    def keep_system_fields(meta: Json, old: Json) -> None:
        """Fields that only the server sets, apart from the identity."""
        if "generation" in old:
            meta["generation"] = old["generation"]
        else:
            meta.pop("generation", None)
        meta["creationTimestamp"] = old.get("creationTimestamp")
        if old.get("deletionTimestamp"):
            meta["deletionTimestamp"] = old["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in old:
            meta.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])

    def _commit(self, call: Call, new: Json, old: Json) -> Json:
        kind = call.kind
        key = (old["metadata"].get("namespace", ""), old["metadata"]["name"])
        old_meta = old["metadata"]
        released = old_meta.get("deletionTimestamp") and not new["metadata"].get("finalizers")
        if released and not old_meta.get("deletionGracePeriodSeconds"):
            if not call.dry_run and not self._held_by_spec(new):
                self._revisions.write(kind.storage, key, None)
                return kind.serve(new)
            if not self._held_by_spec(new):
                return kind.serve(new)
        # Compared with the stored object: a default that only readers got makes the first update a write.
        stored = self._revisions.get(kind.storage, key)
        if stored is not None and same_but_for_time(kind.store(new), stored):
            return kind.serve(old)
        return self._put(call, key, new)

    @staticmethod
    def _held_by_spec(obj: Json) -> bool:
        """A namespace is also blocked by the finalizers of its spec."""
        return obj["kind"] == "Namespace" and obj["apiVersion"] == "v1" and bool(obj["spec"].get("finalizers"))


def _check_number(version: str) -> None:
    if version and not version.isdigit():
        raise ApiError(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')


def clear_server_fields(meta: Json) -> None:
    """Removes what only the server sets from a new object."""
    for field in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        meta.pop(field, None)


def same_but_for_time(new: Json, old: Json) -> bool:
    """Whether nothing changed but the times of claims: such an update is not written."""
    if new == old:
        return True
    if any(new.get(key) != old.get(key) for key in new.keys() | old.keys() if key != "metadata"):
        return False
    new_meta, old_meta = new["metadata"], old["metadata"]
    if any(
        new_meta.get(key) != old_meta.get(key) for key in new_meta.keys() | old_meta.keys() if key != "managedFields"
    ):
        return False
    new_entries, old_entries = new_meta.get("managedFields") or [], old_meta.get("managedFields") or []
    return len(new_entries) == len(old_entries) and all(
        {**item, "time": None} == {**other, "time": None} for item, other in zip(new_entries, old_entries, strict=True)
    )
