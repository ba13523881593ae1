"""Which object is meant, and its owner: Sieve's and Acto's bugs of identity, ownership and shared fields."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from seamark.families.sample.greeting.reconcile import owner
from seamark.families.sample.greeting.state import Seen
from seamark_runtime import difference as differences
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key, Object, ObjectMeta, document
from seamark_runtime.apply import Applier
from seamark_runtime.client import Client
from seamark_runtime.controller import Controller, Declaration, Wanted
from seamark_runtime.difference import difference
from seamark_runtime.marks import missing_marks, without_finalizer
from seamark_runtime.ownership import ByReference, Ownership, within
from seamark_runtime.reconciler import Reconciler
from seamark_runtime.request import Request
from seamark_runtime.status import ByManager
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import ApiPath
from seamark_runtime.view import View
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("identity and ownership")
T = TypeVar("T", bound=Object)


@BUGS.bug("name instead of uid", "a child counts as ours if its owner had the same name")
def name_instead_of_uid() -> None:
    def token(_self: ByReference, owner: Object) -> Hashable:
        return within(owner, owner.metadata.name)

    def owners(_self: ByReference, child: Object) -> Iterable[Hashable]:
        return [within(child, reference.name) for reference in child.metadata.owner_references or ()]

    swap(ByReference.token, token)
    swap(ByReference.owners, owners)


@BUGS.bug("remote object by name", "a remote object is identified by the object's name, so a successor inherits it")
def remote_object_by_name() -> None:
    def by_name(seen: Seen) -> str:
        return seen.greeting.metadata.name

    swap(owner, by_name)


class Anyones(Ownership):
    """Every object is a child of whichever owner looks."""

    def __init__(self, ownership: Ownership, owner: Object) -> None:
        self._ownership = ownership
        self._owner = owner

    def token(self, owner: Object) -> Hashable:
        return self._ownership.token(owner)

    def owners(self, _child: Object) -> Iterable[Hashable]:
        return [self._ownership.token(self._owner)]

    def claim(self, owner: Object, child: Any) -> Any:
        return self._ownership.claim(owner, child)


@BUGS.bug("no owner check", "an object of the wanted name is written, even if it is foreign")
def no_owner_check() -> None:
    original = Applier._ensure_child

    async def ensure(self: Applier, request: Request, owner: Object, ownership: Ownership, child: Object) -> Object:
        return await original(self, request, owner, Anyones(ownership, owner), child)

    swap(Applier._ensure_child, ensure)


@BUGS.bug("adopts by force", "children are applied by force instead of created, into whatever has the name")
def adopts_by_force() -> None:
    original = Client.create

    async def create(self: Client, obj: T) -> T:
        if not isinstance(obj, ConfigMap):
            return await original(self, obj)
        return await self.apply(type(obj), obj.key, {"data": obj.data})

    swap(Client.create, create)


@BUGS.bug("shared field manager", "the status is applied under the name that all families share")
def shared_field_manager() -> None:
    original = ByManager.write

    class Unnamed(Client):
        def named(self, _manager: str) -> Client:
            return self

    async def write(self: ByManager, client: Client, obj: Any, status: Any) -> Any:
        unnamed = Unnamed.__new__(Unnamed)
        unnamed.__dict__.update(client.__dict__)
        return await original(self, unnamed, obj, status)

    swap(ByManager.write, write)


@BUGS.bug("status for a successor", "a status without resourceVersion is written to a new object of the same name")
def status_for_a_successor() -> None:
    original = Client.apply

    async def apply(self: Client, kind: type[T], key: Key, fields: Mapping[str, Any], subresource: str = "") -> T:
        return await original(self, kind, key, {**fields, "metadata": {}} if subresource else fields, subresource)

    swap(Client.apply, apply)


@BUGS.bug("delete without uid", "a delete concerns whatever has the name by then")
def delete_without_uid() -> None:
    original = Client._write

    def write(
        self: Client, method: str, path: ApiPath, body: object, content_type: str = "application/json"
    ) -> HttpRequest:
        if method == "DELETE" and isinstance(body, dict):
            preconditions = {name: value for name, value in body["preconditions"].items() if name != "uid"}
            body = {**body, "preconditions": preconditions}
        return original(self, method, path, body, content_type)

    swap(Client._write, write)


@BUGS.bug("child patched blindly", "a child's patch does not name the version it was made for")
def child_patched_blindly() -> None:
    original = Client.merge_patch

    async def patch(self: Client, kind: type[T], key: Key, patch: Mapping[str, Any], subresource: str = "") -> T:
        if kind is ConfigMap:
            metadata = {name: value for name, value in patch["metadata"].items() if name != "resourceVersion"}
            patch = {**patch, "metadata": metadata}
        return await original(self, kind, key, patch, subresource)

    swap(Client.merge_patch, patch)


@BUGS.bug("prune across owners", "every child in the cache counts as one of ours that is no longer wanted")
def prune_across_owners() -> None:
    original = Reconciler._existing

    def existing(
        self: Reconciler, request: Request, controller: Declaration, owner: Object, wanted: Wanted, view: View
    ) -> list[Object]:
        original(self, request, controller, owner, wanted, view)
        informers = self._dependencies.informers
        return [child for kind in controller.writes.children for child in informers[kind].cache]

    swap(Reconciler._existing, existing)


@BUGS.bug("foreign finalizers lost", "our finalizer replaces those of others")
def foreign_finalizers_lost() -> None:
    def missing(controller: Controller[Any], obj: Any, wanted: Wanted) -> dict[str, Any]:
        metadata = missing_marks(controller, obj, wanted)
        if wanted.finalizer and "finalizers" in metadata:
            metadata["finalizers"] = [controller.writes.finalizer]
        return metadata

    swap(missing_marks, missing)


@BUGS.bug("all finalizers removed", "releasing an object removes the finalizers of others too")
def all_finalizers_removed() -> None:
    def without(controller: Controller[Any], obj: Any) -> dict[str, Any]:
        return {"finalizers": []} if without_finalizer(controller, obj) else {}

    swap(without_finalizer, without)


@BUGS.bug("foreign marks removed", "labels and annotations of others on a child count as leftovers")
def foreign_marks_removed() -> None:
    original = differences._metadata

    def metadata(wanted: ObjectMeta, live: ObjectMeta, is_ours: differences.IsOurs) -> dict[str, Any]:
        patch = original(wanted, live, is_ours)
        for name in ("labels", "annotations"):
            ours = getattr(wanted, name) or {}
            if gone := {key: None for key in getattr(live, name) or {} if key not in ours}:
                patch[name] = gone
        return patch

    swap(differences._metadata, metadata)


@BUGS.bug("typed object put back", "a child is replaced by what we know of it; fields that we do not know are lost")
def typed_object_put_back() -> None:
    original = Client.merge_patch
    wholes: dict[Key, Object] = {}

    def remembered(wanted: Object, live: Object) -> dict[str, Any]:
        wholes[live.key] = msgspec.structs.replace(wanted, metadata=live.metadata)
        return difference(wanted, live)

    async def put(self: Client, kind: type[T], key: Key, patch: Mapping[str, Any], subresource: str = "") -> T:
        if kind is not ConfigMap:
            return await original(self, kind, key, patch, subresource)
        path = kind.RESOURCE.path(*key)
        return await self._object(kind, self._write("PUT", path, document(wholes[key])))

    swap(difference, remembered)
    swap(Client.merge_patch, put)
