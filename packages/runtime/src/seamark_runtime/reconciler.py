"""The reconciler: observe → desire → apply the difference → judge → write the status if it differs, for one request.

- A finalizer is acknowledged before the first remote call; calls run beside the workers (`calls`).
- After its own writes a request waits, outside any worker, until the cache shows them (`expectations`).
- The outcome decides when the request is requeued: after a backoff, when a fact expires, or when something changes
  that it has read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from seamark_runtime.access import AccessReviews
from seamark_runtime.api.meta import Object, ObjectMeta
from seamark_runtime.apply import Answers, Applier, Refusal
from seamark_runtime.cache import Index
from seamark_runtime.calls import Calls, Results
from seamark_runtime.client import Client
from seamark_runtime.clock import Clock
from seamark_runtime.conditions import Awaited
from seamark_runtime.controller import CollectionController, Controller, Declaration, Wanted, children
from seamark_runtime.errors import Retry
from seamark_runtime.events import Events, Notice
from seamark_runtime.expectations import Expectations
from seamark_runtime.failures import Failures
from seamark_runtime.follow import Follower
from seamark_runtime.marks import change_metadata, missing_marks, without_finalizer
from seamark_runtime.memory import acknowledge
from seamark_runtime.metrics import Metrics
from seamark_runtime.queue import Queue
from seamark_runtime.request import Request
from seamark_runtime.router import EventRouter
from seamark_runtime.source import Informer
from seamark_runtime.statuswriter import StatusWriter
from seamark_runtime.view import View

log = structlog.get_logger(__name__)

LASTING = 3  # consecutive failures after which a transient error is shown on the object

Owners = Mapping[tuple[str, type[Object]], Index[Any]]  # (controller, kind of child) → its children by owner


@dataclass(frozen=True)
class Dependencies:
    """The parts that loop and reconciler are built with. One of each per process."""

    client: Client
    informers: Mapping[type[Object], Informer[Any]]
    followers: Mapping[type[Object], Follower[Any]]
    reviews: AccessReviews
    queue: Queue
    calls: Calls
    expectations: Expectations
    events: Events
    metrics: Metrics
    failures: Failures
    clock: Clock


@dataclass(frozen=True)
class _Done:
    """The result of applying what was wanted for an object, and the object after that."""

    obj: Any
    answers: Answers
    refusals: tuple[Refusal, ...]  # of deletes, and of our marks
    trouble: Retry | None
    released: bool  # our finalizer is removed: its status is not written any more


class Reconciler:
    def __init__(self, dependencies: Dependencies, router: EventRouter, owners: Owners) -> None:
        self._dependencies = dependencies
        self._router = router
        self._owners = owners
        self._status = StatusWriter(dependencies.client, dependencies.events, dependencies.clock)
        self._clients = {
            controller.name: dependencies.client.named(controller.writes.manager)
            for controller in router.controllers.values()
        }
        self._appliers = {name: self._applier(client) for name, client in self._clients.items()}
        self._awaiting: dict[Request, float] = {}  # since when a first status waits for entries of collections

    def _applier(self, client: Client) -> Applier:
        dependencies = self._dependencies
        return Applier(
            client,
            dependencies.informers,
            dependencies.expectations,
            dependencies.clock,
            dependencies.metrics,
            dependencies.followers,
        )

    def start(self) -> None:
        """This process leads from now on."""
        self._awaiting.clear()
        for controller in self._router.controllers.values():
            if controller.competing is not None:
                controller.competing.restart()
        self._status.started = self._dependencies.clock.monotonic()

    async def reconcile(self, request: Request) -> None:
        controller = self._router.controllers[request.controller]
        view = self._view()
        try:
            if isinstance(controller, Controller):
                await self._object(request, controller, view)
            else:
                await self._collection(request, controller, view)
        except BaseException:
            self._router.reads.record(request, view.reads)  # it depends on what it has read, however it ends
            raise
        finally:
            self._router.reads.settle(view.reads)

    def _view(self) -> View:
        parts = self._dependencies
        return View(parts.informers, parts.clock.monotonic(), parts.followers, parts.reviews, parts.clock.wall())

    async def _object(self, request: Request, controller: Controller[Any], view: View) -> None:
        dependencies = self._dependencies
        obj = view.get(controller.kind, request.key)
        results = dependencies.calls.results(request, "" if obj is None else obj.uid)
        if obj is not None and controller.memory is not None:
            controller.memory.advance(view, obj, results)
        seen = None if obj is None else controller.observe(view, obj, results)
        if obj is None or seen is None:
            self._forget(request, view)
            return
        competing = controller.competing
        if competing and not obj.deleting and (where := competing.contested(view, request, controller.status, obj)):
            self._leave_alone(request, view)
            dependencies.events.notice(obj, competing.notice(where))
            return
        wanted = controller.desire(seen)
        existing = self._existing(request, controller, obj, wanted, view)
        done = await self._carry_out(request, controller, obj, wanted, existing)
        for refusal in done.refusals:
            dependencies.events.notice(obj, Notice(refusal.reason, refusal.message))
        if not done.released:
            judged = controller.judge(seen, done.answers)
            answers_due = self._answers_due(request, controller, results, judged)
            await self._write_status(request, controller, done.obj, judged, answers_due)
            for notice in controller.announce(seen, done.answers) if controller.announce else ():
                dependencies.events.notice(obj, notice)
            acknowledge(controller.memory, seen, done.answers)
        self._requeue(request, view, done.trouble, refused=bool(done.refusals or done.answers.refusals))

    async def _carry_out(
        self, request: Request, controller: Controller[Any], obj: Any, wanted: Wanted, existing: list[Object]
    ) -> _Done:
        """Metadata, calls, children, in this order. Nothing else is done before our metadata is acknowledged:
        without the finalizer remote objects could be left behind, without the annotation a call would be repeated."""
        dependencies, applier = self._dependencies, self._appliers[request.controller]
        lasting = dependencies.queue.failures(request) >= LASTING
        obj, unmarked = await self._mark(request, controller, obj, wanted, lasting=lasting)
        answers, trouble = Answers({}, {}), None
        if unmarked:
            answers = Answers.refused(wanted.children, unmarked)
        else:
            dependencies.calls.want(request, obj.uid, wanted.calls)
            answers, trouble = await applier.ensure(
                request, obj, controller.writes.ownership, wanted.children, lasting=lasting
            )
            self._respect_retry_after(request, trouble)
        pruned = await applier.prune(
            request, existing, wanted.children.values(), lasting=lasting, finalizer=controller.writes.finalizer
        )
        self._respect_retry_after(request, pruned.trouble)
        answers = replace(answers, undeleted=pruned.refusals)
        refusals = [*([unmarked] if unmarked else ()), *pruned.refusals]
        released = obj.deleting and not wanted.finalizer and not pruned.pending
        if released and (unreleased := await self._release(request, controller, obj, lasting=lasting)):
            released, refusals = False, [*refusals, unreleased]
        return _Done(obj, answers, tuple(refusals), trouble or pruned.trouble, released)

    async def _collection(self, request: Request, controller: CollectionController[Any], view: View) -> None:
        dependencies = self._dependencies
        if controller.competing is not None and controller.competing.left_alone(view, request.key):
            self._leave_alone(request, view)
            return
        results = dependencies.calls.results(request, "")
        if controller.memory is not None:
            controller.memory.advance(view, request.key, results)
        seen = controller.observe(view, request.key, results)
        if seen is None:
            for output in controller.outputs:
                output.collection.publish(request.key, {})
            self._forget(request, view)
            return
        owner = Object(metadata=ObjectMeta(name=request.key.name, namespace=request.key.namespace))
        wanted = controller.desire(seen)
        existing = self._existing(request, controller, owner, wanted, view)
        dependencies.calls.want(request, "", wanted.calls)
        applier, lasting = self._appliers[request.controller], dependencies.queue.failures(request) >= LASTING
        answers, trouble = await applier.ensure(
            request, owner, controller.writes.ownership, wanted.children, lasting=lasting
        )
        self._respect_retry_after(request, trouble)
        pruned = await applier.prune(request, existing, wanted.children.values(), lasting=lasting)
        self._respect_retry_after(request, pruned.trouble)
        for refusal in pruned.refusals:
            log.warning("refused", request=str(request), error=refusal.message)
        answers = replace(answers, undeleted=pruned.refusals)
        published = [output.publish(request.key, seen, answers) for output in controller.outputs]
        acknowledge(controller.memory, seen, answers)
        self._requeue(request, view, trouble or pruned.trouble, refused=bool(pruned.refusals or answers.refusals))
        if not (wanted.children or wanted.calls or existing or any(published)):
            self._forget(request, view)

    def _leave_alone(self, request: Request, view: View) -> None:
        """A competing controller reverts what we write: nothing is changed for a while."""
        dependencies = self._dependencies
        self._router.reads.record(request, view.reads)
        dependencies.calls.forget(request)
        dependencies.queue.succeeded(request)
        dependencies.queue.add_after(request, view.requeue_at - view.now)

    def _respect_retry_after(self, request: Request, trouble: Retry | None) -> None:
        """Whatever else happens, the request is not reconciled again before the time that the server has asked for."""
        if trouble is not None and trouble.after:
            self._dependencies.queue.hold(request, trouble.after)

    def _existing(
        self, request: Request, controller: Declaration, owner: Object, wanted: Wanted, view: View
    ) -> list[Object]:
        """Our children in the cache. Wanted names are read too: when a foreign object leaves one, we are requeued."""
        where = children(controller)
        for child in wanted.children.values():
            where.check(owner, child)
            view.child(type(child), child.key)
        owned = [
            (self._owners[(request.controller, kind)], where.token(owner, kind)) for kind in controller.writes.children
        ]
        found = [child for index, token in owned for child in view.by(index, token)]
        self._router.reads.record(request, view.reads)
        return found

    def _answers_due(
        self, request: Request, controller: Controller[Any], results: Results, judged: Any
    ) -> float | None:
        """Since when results are awaited: of the request's own calls, or entries of collections that it reads."""
        since = self._dependencies.calls.waiting_since(request, results)
        if since is not None:
            return since
        if any(isinstance(condition, Awaited) for condition in controller.status.condition_map(judged).values()):
            return self._awaiting.setdefault(request, self._dependencies.clock.monotonic())
        self._awaiting.pop(request, None)
        return None

    async def _mark(
        self, request: Request, controller: Controller[Any], obj: Any, wanted: Wanted, *, lasting: bool
    ) -> tuple[Any, Refusal | None]:
        """Our finalizer and annotations as wanted: the object after that."""
        if obj.deleting or not (marks := missing_marks(controller, obj, wanted)):
            return obj, None
        return await self._change_metadata(request, obj, marks, lasting=lasting)

    async def _release(
        self, request: Request, controller: Controller[Any], obj: Any, *, lasting: bool
    ) -> Refusal | None:
        if not (metadata := without_finalizer(controller, obj)):
            return None
        _, refusal = await self._change_metadata(request, obj, metadata, lasting=lasting)
        return refusal

    async def _change_metadata(
        self, request: Request, obj: Any, metadata: dict[str, Any], *, lasting: bool
    ) -> tuple[Any, Refusal | None]:
        changed, refusal = await change_metadata(self._clients[request.controller], obj, metadata, lasting=lasting)
        if refusal is None:
            self._written(request, changed, "")
        return changed, refusal

    async def _write_status(
        self, request: Request, controller: Controller[Any], obj: Any, judged: Any, answers_due: float | None
    ) -> None:
        dependencies = self._dependencies
        try:
            result = await self._status.write(controller, obj, judged, answers_due)
        except Exception:
            if controller.competing is not None:
                controller.competing.unsure(request)
            raise
        if result.requeue_after is not None:
            dependencies.queue.add_after(request, result.requeue_after)
        if result.written is None:
            return
        if controller.competing is not None:
            controller.competing.wrote(request, controller.status, result.written)
        pending_since = self._router.status_written(request, result.written.metadata.resource_version)
        self._written(request, result.written, "status")
        if pending_since is not None:
            took = dependencies.clock.monotonic() - pending_since
            dependencies.metrics.event_to_status.labels(request.controller).observe(took)

    def _written(self, request: Request, obj: Object, subresource: str) -> None:
        dependencies = self._dependencies
        dependencies.metrics.writes.labels(obj.RESOURCE.kind, "patch", subresource).inc()
        dependencies.expectations.written(
            request,
            dependencies.informers[type(obj)],
            obj.key,
            obj.metadata.resource_version,
            dependencies.clock.monotonic(),
        )

    def _requeue(self, request: Request, view: View, trouble: Retry | None, *, refused: bool) -> None:
        queue = self._dependencies.queue
        self._router.settled(request)
        expires = min(view.requeue_at, self._dependencies.calls.expiry(request))
        if expires != float("inf"):
            queue.add_after(request, expires - view.now)
        if trouble is not None or refused:
            queue.add_failed(request, (trouble.after or 0.0) if trouble else 0.0)
        else:
            queue.succeeded(request)

    def _forget(self, request: Request, view: View) -> None:
        """Nothing is to be done. For an object or key that exists, a change of what was read may change that; what does
        not exist is forgotten: its next member enqueues it."""
        dependencies = self._dependencies
        dependencies.calls.forget(request)
        dependencies.expectations.forget(request)
        dependencies.queue.succeeded(request)
        dependencies.queue.cancel(request)
        controller = self._router.controllers[request.controller]
        if controller.competing is not None and isinstance(controller, Controller):
            controller.competing.forget(request)
        if controller.memory is not None:
            controller.memory.forget(request.key)
        self._awaiting.pop(request, None)
        exists = len(view.reads) > 1 if isinstance(controller, Controller) else self._router.exists(request, controller)
        if isinstance(controller, Controller) and not exists:
            dependencies.events.gone(controller.kind.RESOURCE, request.key)
        self._router.forget(request, view.reads if exists else ())
