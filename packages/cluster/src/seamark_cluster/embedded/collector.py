"""Garbage collection by owner, and deletion of namespaces: what kube-controller-manager does for all kinds.

Work is found by following changes, never by listing the store: its cost is that of what changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import datetime

from seamark_cluster.embedded.calls import ADMIN, Call, Path
from seamark_cluster.embedded.deletes import FOREGROUND, ORPHAN, Deletes, Options
from seamark_cluster.embedded.machinery.errors import ApiError, Json
from seamark_cluster.embedded.machinery.revisions import Event, ObjectKey, Revisions
from seamark_cluster.embedded.namespaces import Remains
from seamark_cluster.embedded.registry import Registry
from seamark_runtime.clock import timestamp

Place = tuple[str, ObjectKey]
"""A stored resource, and a key in it."""


class Collector:
    """Follows changes, and deletes what they leave behind when `run`.

    - An object all of whose owners are gone is deleted; owners are identified by uid.
    - Foreground: blocking dependents are deleted first. Orphan: the owner reference is removed from dependents.
    - A terminating namespace deletes everything in it, and is removed when it is empty.
    """

    def __init__(self, revisions: Revisions, registry: Registry, deletes: Deletes, now: Callable[[], datetime]) -> None:
        self._revisions = revisions
        self._registry = registry
        self._deletes = deletes
        self._now = now
        self._dependents: dict[str, dict[Place, None]] = {}
        self._work: deque[tuple[Callable[[Place], None], Place]] = deque()

    def reset(self) -> None:
        """Rebuilds the state: the store was restored to an older revision."""
        self._dependents.clear()
        self._work.clear()
        for resource in self._revisions.resources():
            for key, obj in self._revisions.objects(resource):
                self._index_owners(Event(0, resource, key, None, obj))

    def changed(self, event: Event) -> None:
        self._index_owners(event)
        place = (event.resource, event.key)
        if event.new is None and event.old is not None:
            for dependent in self._dependents.get(event.old["metadata"]["uid"], {}):
                self._work.append((self._check_owners, dependent))
            for owner in event.old["metadata"].get("ownerReferences") or ():
                self._revisit(owner, event.key[0])
            if event.key[0]:
                self._work.append((self._empty_namespace, ("namespaces", ("", event.key[0]))))
        elif event.new is not None:
            self._consider(event, place)

    def _consider(self, event: Event, place: Place) -> None:
        assert event.new is not None
        meta = event.new["metadata"]
        if meta.get("ownerReferences") and (event.old is None or event.old["metadata"].get("ownerReferences") is None):
            self._work.append((self._check_owners, place))
        if meta.get("deletionTimestamp"):
            finalizers = meta.get("finalizers") or ()
            if FOREGROUND in finalizers:
                self._work.append((self._delete_dependents, place))
            if ORPHAN in finalizers:
                self._work.append((self._orphan_dependents, place))
            if event.resource == "namespaces":
                self._work.append((self._empty_namespace, place))

    def _index_owners(self, event: Event) -> None:
        place = (event.resource, event.key)
        for owner in (event.old or {"metadata": {}})["metadata"].get("ownerReferences") or ():
            known = self._dependents.get(owner["uid"], {})
            known.pop(place, None)
            if not known:
                self._dependents.pop(owner["uid"], None)
        for owner in (event.new or {"metadata": {}})["metadata"].get("ownerReferences") or ():
            self._dependents.setdefault(owner["uid"], {})[place] = None

    def settle(self) -> None:
        """Works until nothing is left to do."""
        while self._work:
            do, place = self._work.popleft()
            do(place)

    # --- owners

    def _owner(self, reference: Json, namespace: str) -> tuple[Place, Json] | None:
        kind = self._registry.by_kind(reference["apiVersion"], reference["kind"])
        if kind is None:
            return None
        place = (kind.storage, (namespace if kind.names.namespaced else "", reference["name"]))
        owner = self._revisions.get(*place)
        return (place, owner) if owner is not None and owner["metadata"]["uid"] == reference["uid"] else None

    def _revisit(self, reference: Json, namespace: str) -> None:
        found = self._owner(reference, namespace)
        if found is not None and FOREGROUND in (found[1]["metadata"].get("finalizers") or ()):
            self._work.append((self._delete_dependents, found[0]))

    def _check_owners(self, place: Place) -> None:
        obj = self._revisions.get(*place)
        references = (obj or {"metadata": {}})["metadata"].get("ownerReferences")
        if obj is None or not references or obj["metadata"].get("deletionTimestamp"):
            return
        solid = [item for item in references if self._is_solid(item, place[1][0])]
        if not any(self._owner(reference, place[1][0]) for reference in references):
            self._delete(place, Options(policy="Background", uid=obj["metadata"]["uid"]))
        elif solid and len(solid) < len(references):
            self._rewrite(place, obj, "ownerReferences", solid)

    def _is_solid(self, reference: Json, namespace: str) -> bool:
        """Whether the owner exists, and does not wait for its dependents to be deleted."""
        found = self._owner(reference, namespace)
        return found is not None and FOREGROUND not in (found[1]["metadata"].get("finalizers") or ())

    def _delete_dependents(self, place: Place) -> None:
        owner = self._revisions.get(*place)
        if owner is None or FOREGROUND not in (owner["metadata"].get("finalizers") or ()):
            return
        uid = owner["metadata"]["uid"]
        blocking = False
        for dependent in list(self._dependents.get(uid, {})):
            obj = self._revisions.get(*dependent)
            if obj is None:
                continue
            references = obj["metadata"]["ownerReferences"]
            reference = next(item for item in references if item["uid"] == uid)
            if any(self._is_solid(entry, dependent[1][0]) for entry in references):
                self._check_owners(dependent)
                continue
            if not obj["metadata"].get("deletionTimestamp"):
                self._delete(dependent, Options(policy="Foreground", uid=obj["metadata"]["uid"]))
            if reference.get("blockOwnerDeletion") and self._revisions.get(*dependent) is not None:
                blocking = True
        if not blocking:
            self._release(place, FOREGROUND)

    def _orphan_dependents(self, place: Place) -> None:
        owner = self._revisions.get(*place)
        if owner is None or ORPHAN not in (owner["metadata"].get("finalizers") or ()):
            return
        uid = owner["metadata"]["uid"]
        for dependent in list(self._dependents.get(uid, {})):
            obj = self._revisions.get(*dependent)
            if obj is not None:
                left = [reference for reference in obj["metadata"]["ownerReferences"] if reference["uid"] != uid]
                self._rewrite(dependent, obj, "ownerReferences", left)
        self._release(place, ORPHAN)

    # --- namespaces

    def _empty_namespace(self, place: Place) -> None:
        namespace = self._revisions.get(*place)
        if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
            return
        name = place[1][1]
        remains = Remains()
        for kind in list(self._registry.kinds()):
            if not kind.names.namespaced or not kind.policy.stored:
                continue
            for key in [key for key in self._revisions.table(kind.storage).keys if key[0] == name]:
                obj = self._revisions.get(kind.storage, key)
                if obj is not None and not obj["metadata"].get("deletionTimestamp"):
                    self._delete((kind.storage, key), Options(policy="Background"))
                obj = self._revisions.get(kind.storage, key)
                if obj is not None and kind.names.resource == kind.storage:  # Events are served in two versions
                    remains.add(kind.names, obj)
        if remains.kinds:
            self._write_status(place, namespace, remains)
        elif namespace["spec"].get("finalizers"):
            spec = {key: value for key, value in namespace["spec"].items() if key != "finalizers"}
            changed = {**namespace, "metadata": dict(namespace["metadata"]), "spec": spec}
            self._revisions.write("namespaces", place[1], changed)
            if not namespace["metadata"].get("finalizers"):
                self._revisions.write("namespaces", place[1], None)

    def _write_status(self, place: Place, namespace: Json, remains: Remains) -> None:
        before = namespace["status"].get("conditions") or []
        conditions = remains.conditions(before, timestamp(self._now()))
        if conditions != before:
            status = {**namespace["status"], "conditions": conditions}
            self._revisions.write(*place, {**namespace, "metadata": dict(namespace["metadata"]), "status": status})

    # --- writing

    def _delete(self, place: Place, options: Options) -> None:
        kind = self._registry.of_storage(place[0])
        if kind is None:
            return
        names, (namespace, name) = kind.names, place[1]
        path = Path(names.group, names.version, names.plural, namespace, name)
        try:
            self._deletes.remove(Call("delete", kind, path, ADMIN), place[1], options)
        except ApiError:
            return  # it is gone, or another object has its name: both are fine

    def _release(self, place: Place, finalizer: str) -> None:
        obj = self._revisions.get(*place)
        if obj is None:
            return
        left = [item for item in obj["metadata"].get("finalizers") or () if item != finalizer]
        if left or not obj["metadata"].get("deletionTimestamp"):
            self._rewrite(place, obj, "finalizers", left)
        else:
            self._revisions.write(*place, None)

    def _rewrite(self, place: Place, obj: Json, field: str, value: list[Json] | list[str]) -> None:
        meta = {key: item for key, item in obj["metadata"].items() if key != field}
        if value:
            meta[field] = value
        self._revisions.write(*place, {**obj, "metadata": meta})
