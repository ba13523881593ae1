"""Delete: at once, after finalizers, after a grace period, one object or a whole collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from seamark_cluster.embedded import bodies
from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import (
    FieldError,
    Json,
    bad_request,
    conflict,
    invalid,
    invalid_object,
    not_found,
    unsupported,
)
from seamark_cluster.embedded.machinery.revisions import ObjectKey, Revisions
from seamark_cluster.embedded.writes import Admission
from seamark_runtime.clock import timestamp

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a delete request."""

    grace: int | None = None
    policy: str = ""
    orphan: bool | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False


def read_options(call: Call) -> Options:
    """From the body if there is one, else from the query."""
    given: Any = bodies.decode(call.body, call.content_type) if call.body.strip() else {}
    if not isinstance(given, dict):
        raise bad_request("DeleteOptions must be an object")
    preconditions = given.get("preconditions") or {}
    options = Options(
        grace=given.get("gracePeriodSeconds", _number(call.option("gracePeriodSeconds"))),
        policy=given.get("propagationPolicy") or call.option("propagationPolicy") or "",
        orphan=given.get("orphanDependents"),
        uid=preconditions.get("uid") or "",
        version=preconditions.get("resourceVersion") or "",
        dry_run=call.dry_run or given.get("dryRun") == ["All"],
    )
    _check_options(options)
    return options


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _check_options(options: Options) -> None:
    errors: list[FieldError] = []
    if options.policy and options.orphan is not None:
        message = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", options.policy, message))
    if options.policy and options.policy not in _POLICIES:
        errors.append(unsupported("propagationPolicy", options.policy, [*_POLICIES, "nil"]))
    if errors:
        raise invalid_object("meta.k8s.io", "DeleteOptions", "", errors)


class Deletes:
    """Deletes objects.

    - An object with finalizers or a grace period gets a deletionTimestamp and stays; a later update removes it.
    - Deleting it again changes nothing.
    """

    def __init__(self, revisions: Revisions, admission: Admission, now: Callable[[], datetime]) -> None:
        self._revisions = revisions
        self._admission = admission
        self._now = now

    def delete(self, call: Call) -> Json:
        options = read_options(call)
        key = (call.namespace if call.kind.names.namespaced else "", call.name)
        return self.remove(call, key, options)

    def remove(self, call: Call, key: ObjectKey, options: Options) -> Json:
        kind = call.kind
        stored = self._revisions.get(kind.storage, key)
        if stored is None:
            raise not_found(kind.names.group, kind.names.plural, key[1])
        old = kind.live(stored)
        if kind.storage == "namespaces":
            return self._end_namespace(call, key, old, options)
        self._check_preconditions(call, old["metadata"], options)
        self._admission.validate(call, None, old)
        meta = dict(old["metadata"])
        changed = {**old, "metadata": meta}
        graceful, pending = self._graceful(call, meta, old, options)
        if pending:
            return self._result(call, old)
        finalizers = self._finalizers(call, meta, options)
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
        if finalizers and not graceful:
            self._mark(meta)
        if finalizers or (graceful and meta["deletionGracePeriodSeconds"]):
            if changed == old:
                return kind.serve(old)
            return self._write(call, key, changed, options)
        if graceful:
            # An immediate deletion is still two events: watchers get the deletionTimestamp, then the deletion.
            old = self._write(call, key, changed, options)
        if not options.dry_run:
            self._revisions.write(kind.storage, key, None)
        return self._result(call, old)

    def _end_namespace(self, call: Call, key: ObjectKey, old: Json, options: Options) -> Json:
        """A namespace gets a deletionTimestamp, and is removed when it is empty and its finalizers are done."""
        meta = dict(old["metadata"])
        self._check_namespace(call, meta, options)
        if meta.get("deletionTimestamp"):
            if old["spec"].get("finalizers"):
                return old
            if not options.dry_run and not meta.get("finalizers"):
                self._revisions.write(call.kind.storage, key, None)
            return old
        self._admission.validate(call, None, old)
        meta["deletionTimestamp"] = timestamp(self._now())
        finalizers = self._finalizers(call, meta, options)
        meta.pop("finalizers", None)
        if finalizers:
            meta["finalizers"] = finalizers
        changed = {**old, "metadata": meta, "status": {**old["status"], "phase": "Terminating"}}
        return self._write(call, key, changed, options)

    @staticmethod
    def _check_namespace(call: Call, meta: Json, options: Options) -> None:
        preconditions = {
            "UID": (options.uid, meta["uid"]),
            "ResourceVersion": (options.version, meta["resourceVersion"]),
        }
        for name, (wanted, found) in preconditions.items():
            if wanted and wanted != found:
                why = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {found}"
                raise conflict("", "namespaces", meta["name"], why)

    def _write(self, call: Call, key: ObjectKey, changed: Json, options: Options) -> Json:
        if options.dry_run:
            return changed
        stored = call.kind.store(changed)
        written = self._revisions.write(call.kind.storage, key, stored)
        return call.kind.serve(written)

    def _check_preconditions(self, call: Call, meta: Json, options: Options) -> None:
        names = call.kind.names
        if options.uid and options.uid != meta["uid"]:
            why = (
                f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
                "The object might have been deleted and then recreated"
            )
            raise conflict(call.kind.invalid_group, names.kind, meta["name"], why)
        if options.version and options.version != meta["resourceVersion"]:
            why = (
                f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in "
                f"record ({meta['resourceVersion']}). The object might have been modified"
            )
            raise conflict(call.kind.invalid_group, names.kind, meta["name"], why)

    def _mark(self, meta: Json) -> None:
        """Marks it as being deleted, without a grace period. Idempotent."""
        if not meta.get("deletionTimestamp"):
            meta["deletionTimestamp"] = timestamp(self._now())
            if meta.get("generation"):
                meta["generation"] += 1
        meta["deletionGracePeriodSeconds"] = 0

    def _graceful(self, call: Call, meta: Json, old: Json, options: Options) -> tuple[bool, bool]:
        """Whether the deletion has to wait, and whether it already does and nothing changes."""
        period = call.kind.grace(old, options.grace)
        if period is None:
            return False, False
        if meta.get("deletionTimestamp"):
            running = meta.get("deletionGracePeriodSeconds")
            if not running:
                return False, False
            if options.grace is None or options.grace >= running:
                return False, True
            began = datetime.fromisoformat(meta["deletionTimestamp"]) - timedelta(seconds=running)
            ends = max(began + timedelta(seconds=options.grace), self._now())
            meta["deletionTimestamp"] = timestamp(ends)
            meta["deletionGracePeriodSeconds"] = options.grace
            return True, False
        meta["deletionTimestamp"] = timestamp(self._now() + timedelta(seconds=period))
        meta["deletionGracePeriodSeconds"] = period
        if meta.get("generation"):
            meta["generation"] += 1
        return True, False

    @staticmethod
    def _finalizers(call: Call, meta: Json, options: Options) -> list[str]:
        given = list(meta.get("finalizers") or ())
        if not call.kind.policy.collects:
            return given
        orphan = ORPHAN in given
        foreground = FOREGROUND in given
        if options.orphan is not None:
            orphan, foreground = options.orphan, False
        elif options.policy:
            orphan, foreground = options.policy == "Orphan", options.policy == "Foreground"
        wanted = [item for item in given if item not in (ORPHAN, FOREGROUND)]
        wanted += [ORPHAN] * orphan + [FOREGROUND] * foreground
        return given if set(wanted) == set(given) else wanted

    @staticmethod
    def _result(call: Call, old: Json) -> Json:
        names, meta = call.kind.names, old["metadata"]
        if names.kind in _RETURNED and names.group in ("", "policy"):
            return call.kind.serve(old)
        details = {"name": meta["name"], "group": names.group, "kind": names.plural, "uid": meta["uid"]}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }


_RETURNED = {"Pod", "Service", "ServiceAccount", "PersistentVolumeClaim", "Namespace", "ResourceQuota"}
