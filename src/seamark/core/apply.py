"""Children: the objects we make, and keep as they are wanted.

- Made by POST. A taken name leads to the question whose it is: ours is adopted, anybody else's is never touched.
- Changed by a merge patch that carries uid and resourceVersion, with only what differs.
- Pruned by ownership, wherever they are, with the uid; what is already gone is success.
- New children come before old ones go.
- A refusal is an answer. A passing failure ends the pass, and becomes an answer when it has lasted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.meta import Key, Object
from seamark.core.client import Client
from seamark.core.clock import Clock
from seamark.core.difference import difference
from seamark.core.errors import Exists, Gone, Refused, Retry
from seamark.core.expectations import Expectations
from seamark.core.follow import Follower
from seamark.core.metrics import Metrics
from seamark.core.ownership import Ownership
from seamark.core.queue import Item
from seamark.core.source import Fresh, Informer


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a child is not as wanted, in the words of whoever refused."""

    message: str
    reason: str = ""
    taken: bool = False  # the name belongs to an object that is not ours


@dataclass(frozen=True)
class Ref:
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True)
class Answers:
    """What the API server said about each child, by its role."""

    children: Mapping[str, Object]
    refusals: Mapping[str, Refusal]

    def child(self, role: str) -> Any:
        """The child as the server last showed it, or None while it is not as wanted."""
        return None if role in self.refusals else self.children.get(role)

    def ref(self, role: str) -> Ref | None:
        child = self.child(role)
        return None if child is None else Ref(child.metadata.namespace, child.metadata.name, child.uid)

    def refusal(self, role: str) -> Refusal | None:
        return self.refusals.get(role)


class Applier:
    """Carries out what is wanted of children, for one client. Every write leaves an expectation for its key."""

    def __init__(
        self,
        client: Client,
        informers: Mapping[type[Object], Informer[Any]],
        expectations: Expectations,
        clock: Clock,
        metrics: Metrics,
        followers: Mapping[type[Object], Follower[Any]] | None = None,
    ) -> None:
        self._followers = followers or {}
        self._client = client
        self._informers = informers
        self._expectations = expectations
        self._clock = clock
        self._metrics = metrics

    async def ensure(
        self, item: Item, owner: Object, ownership: Ownership, wanted: Mapping[str, Object], *, lasting: bool
    ) -> tuple[Answers, Retry | None]:
        """Makes the wanted children so. `lasting` says that failures have gone on long enough to be told."""
        children: dict[str, Object] = {}
        refusals: dict[str, Refusal] = {}
        trouble: Retry | None = None
        for role, child in wanted.items():
            try:
                children[role] = await self._one(item, owner, ownership, child)
            except Refused as refused:
                taken = refused.reason == TAKEN
                refusals[role] = Refusal(refused.message, refused.reason, taken)
            except Retry as error:
                if not lasting:
                    raise
                trouble = error
                refusals[role] = Refusal(error.message)
        return Answers(children, refusals), trouble

    async def prune(self, item: Item, existing: Iterable[Object], wanted: Iterable[Object]) -> bool:
        """Deletes what is ours and not wanted. True when something was there to delete, or is still going."""
        keep = {(type(child), child.key) for child in wanted}
        extra = [child for child in existing if (type(child), child.key) not in keep]
        for child in extra:
            if not child.deleting:
                version = child.metadata.resource_version  # whoever has just taken it over keeps it
                await self._client.delete(type(child), child.key, uid=child.uid, version=version)
                self._count(child, "delete")
                informer = self._informers[type(child)]
                self._expectations.deleted(item, informer, child.key, child.uid, self._clock.monotonic())
        return bool(extra)

    async def _one(self, item: Item, owner: Object, ownership: Ownership, child: Object) -> Object:
        wanted: Object = ownership.claim(owner, child)
        live = self._known(child)
        if live is None:
            try:
                created = await self._client.create(wanted)
            except Exists:
                live = await self._look(wanted)
            else:
                self._written(item, created, "create")
                return created
        if ownership.token(owner) not in set(ownership.owners(live)):
            raise Refused(f"{_name(live)} exists and is not managed by Seamark", reason=TAKEN)
        if live.deleting:
            raise Refused(f"{_name(live)} is being deleted", reason="Terminating")
        patch = difference(wanted, live)
        if not patch:
            return live
        identity = {"uid": live.uid, "resourceVersion": live.metadata.resource_version}
        patch["metadata"] = {**patch.get("metadata", {}), **identity}
        changed = await self._client.merge_patch(type(live), live.key, patch)
        self._written(item, changed, "patch")
        return changed

    def _known(self, child: Object) -> Object | None:
        """What is known of the child's place. Where nobody has looked yet, making it will tell."""
        if type(child) in self._informers:
            found: Object | None = self._informers[type(child)].cache.get(child.key)
            return found
        fact = self._followers[type(child)].get(child.key)
        return fact.value if isinstance(fact, Fresh) else None

    async def _look(self, wanted: Object) -> Object:
        try:
            live = await self._client.get(type(wanted), wanted.key)
        except Gone as error:
            raise Retry(error.message) from error
        if type(live) not in self._informers:
            self._followers[type(live)].answered(live)
        return live

    def _written(self, item: Item, obj: Object, verb: str) -> None:
        self._count(obj, verb)
        if type(obj) not in self._informers:
            self._followers[type(obj)].answered(obj)
            return
        informer = self._informers[type(obj)]
        self._expectations.written(item, informer, obj.key, obj.metadata.resource_version, self._clock.monotonic())

    def _count(self, obj: Object, verb: str) -> None:
        self._metrics.writes.labels(obj.RESOURCE.kind, verb, "").inc()


TAKEN = "Taken"


def _name(obj: Object) -> str:
    return f"{obj.RESOURCE.kind} {Key(obj.metadata.namespace, obj.metadata.name)}"
