"""Children: the objects we make, and keep as they are wanted.

- Created by POST. If the name exists, our own object is adopted and a foreign one is never changed.
- Changed by a merge patch that carries uid and resourceVersion, with only what differs.
- Pruned by ownership, with the uid; what is already gone is success. One that is being deleted, and that only foreign
  finalizers hold, is not waited for: nothing is left to do for us, and whether they ever go is not ours to say.
- New children come before old ones go.
- A refusal is an answer, that of a delete too. A passing failure ends the pass, and becomes an answer when it has
  lasted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.client import Client
from seamark_runtime.clock import Clock
from seamark_runtime.difference import difference
from seamark_runtime.errors import Exists, Gone, Refused, Retry
from seamark_runtime.expectations import Expectations
from seamark_runtime.follow import Follower
from seamark_runtime.metrics import Metrics
from seamark_runtime.ownership import Ownership
from seamark_runtime.request import Request
from seamark_runtime.source import Fresh, Informer


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a child is not as wanted: the error of the party that refused."""

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
    """The response of the API server for each child, by its role; and for children that have no role any more."""

    children: Mapping[str, Object]
    refusals: Mapping[str, Refusal]
    undeleted: tuple[Refusal, ...] = ()  # children that are not wanted any more, and why they are still there

    @staticmethod
    def refused(wanted: Mapping[str, Object], refusal: Refusal) -> Answers:
        """None of these was made, all for one reason."""
        return Answers({}, dict.fromkeys(wanted, refusal))

    def child(self, role: str) -> Any:
        """The child as the server last showed it, or None while it is not as wanted."""
        return None if role in self.refusals else self.children.get(role)

    def ref(self, role: str) -> Ref | None:
        child = self.child(role)
        return None if child is None else Ref(child.metadata.namespace, child.metadata.name, child.uid)

    def refusal(self, role: str) -> Refusal | None:
        return self.refusals.get(role)


@dataclass(frozen=True)
class Pruned:
    """What came of deleting: whether something was there to delete, or is to be waited for, and what was refused."""

    pending: bool
    refusals: tuple[Refusal, ...] = ()
    trouble: Retry | None = None


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
        self, request: Request, owner: Object, ownership: Ownership, wanted: Mapping[str, Object], *, lasting: bool
    ) -> tuple[Answers, Retry | None]:
        """Creates and changes children as wanted. `lasting`: failures have lasted long enough to be reported."""
        children: dict[str, Object] = {}
        refusals: dict[str, Refusal] = {}
        trouble: Retry | None = None
        for role, child in wanted.items():
            try:
                children[role] = await self._ensure_child(request, owner, ownership, child)
            except Refused as refused:
                taken = refused.reason == TAKEN
                refusals[role] = Refusal(refused.message, refused.reason, taken)
            except Retry as error:
                if not lasting:
                    raise
                trouble = error
                refusals[role] = Refusal(error.message)
        return Answers(children, refusals), trouble

    async def prune(
        self,
        request: Request,
        existing: Iterable[Object],
        wanted: Iterable[Object],
        *,
        lasting: bool,
        finalizer: str = "",
    ) -> Pruned:
        """Deletes what is ours and not wanted. One that can't be deleted keeps no other.

        `finalizer` is ours: while it is on a child, something outside is still to be removed.
        """
        keep = {(type(child), child.key) for child in wanted}
        extra = [child for child in existing if (type(child), child.key) not in keep]
        refusals: list[Refusal] = []
        trouble: Retry | None = None
        for child in extra:
            try:
                await self._delete(request, child)
            except (Refused, Retry) as error:
                if isinstance(error, Retry):
                    if not lasting:
                        raise
                    trouble = error
                refusals.append(Refusal(f"{_name(child)} is not deleted: {error.message}", "DeleteRefused"))
        return Pruned(not all(left_to_others(child, finalizer) for child in extra), tuple(refusals), trouble)

    async def _delete(self, request: Request, child: Object) -> None:
        if child.deleting:
            return
        version = child.metadata.resource_version  # the controller that has just adopted it keeps it
        await self._client.delete(type(child), child.key, uid=child.uid, version=version)
        self._count(child, "delete")
        informer = self._informers[type(child)]
        self._expectations.deleted(request, informer, child.key, child.uid, self._clock.monotonic())

    async def _ensure_child(self, request: Request, owner: Object, ownership: Ownership, child: Object) -> Object:
        wanted: Object = ownership.claim(owner, child)
        live = self._known(child)
        if live is None:
            try:
                created = await self._client.create(wanted)
            except Exists:
                live = await self._look(wanted)
            else:
                self._written(request, created, "create")
                return created
        if not ownership.owns(owner, live):
            raise Refused(f"{_name(live)} exists and is not managed by Seamark", reason=TAKEN)
        if live.deleting:
            raise Refused(f"{_name(live)} is being deleted{held(live)}", reason="Terminating")
        patch = difference(wanted, live, partial(ownership.refers, owner))
        if not patch:
            return live
        identity = {"uid": live.uid, "resourceVersion": live.metadata.resource_version}
        patch["metadata"] = {**patch.get("metadata", {}), **identity}
        changed = await self._client.merge_patch(type(live), live.key, patch)
        self._written(request, changed, "patch")
        return changed

    def _known(self, child: Object) -> Object | None:
        """What is known under the child's name. If it is not known yet, the create will show."""
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

    def _written(self, request: Request, obj: Object, verb: str) -> None:
        self._count(obj, verb)
        if type(obj) not in self._informers:
            self._followers[type(obj)].answered(obj)
            return
        informer = self._informers[type(obj)]
        self._expectations.written(request, informer, obj.key, obj.metadata.resource_version, self._clock.monotonic())

    def _count(self, obj: Object, verb: str) -> None:
        self._metrics.writes.labels(obj.RESOURCE.kind, verb, "").inc()


TAKEN = "Taken"
MOST_NAMED = 3


def left_to_others(obj: Object, ours: str) -> bool:
    """Whether it is being deleted, and only finalizers that are not ours hold it."""
    finalizers = obj.metadata.finalizers or ()
    return obj.deleting and bool(finalizers) and ours not in finalizers


def held(obj: Object) -> str:
    """What keeps an object that is being deleted, as a message for its readers."""
    finalizers = obj.metadata.finalizers or ()
    if not finalizers:
        return ""
    more = f" and {len(finalizers) - MOST_NAMED} more" if len(finalizers) > MOST_NAMED else ""
    noun = "finalizer" if len(finalizers) == 1 else "finalizers"
    return f"; it is held by the {noun} {', '.join(finalizers[:MOST_NAMED])}{more}"


def _name(obj: Object) -> str:
    return f"{obj.RESOURCE.kind} {Key(obj.metadata.namespace, obj.metadata.name)}"
