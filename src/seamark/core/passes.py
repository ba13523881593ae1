"""One pass of one key: observe → desire → apply the difference → judge → write status if it differs.

- A finalizer is acknowledged before the first call to the outside; the calls run beside the workers (`core.calls`).
- After its own writes a key waits, outside of any worker, until the cache shows them (`core.expectations`).
- What a pass ends with decides when the key comes again: at a backoff, at the moment a fact goes stale, or when
  something that it has read changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.meta import Object, ObjectMeta
from seamark.core.access import AccessReviews
from seamark.core.apply import Answers, Applier
from seamark.core.cache import Index
from seamark.core.calls import Calls, Results
from seamark.core.client import Client
from seamark.core.clock import Clock
from seamark.core.conditions import Awaited
from seamark.core.controller import Controller, Group, Wanted
from seamark.core.errors import Retry
from seamark.core.events import Events
from seamark.core.expectations import Expectations
from seamark.core.follow import Follower
from seamark.core.marks import missing_marks, patch_metadata, without_finalizer
from seamark.core.metrics import Metrics
from seamark.core.queue import Item, Queue
from seamark.core.source import Informer
from seamark.core.speaker import Speaker
from seamark.core.status import ByEntry
from seamark.core.view import View
from seamark.core.waker import Declaration, Waker

LASTING = 3  # failures in a row after which a passing error is told on the object

Owners = Mapping[tuple[str, type[Object]], Index[Any]]  # (controller, kind of child) → its children by owner


@dataclass(frozen=True)
class Services:
    """What the loop stands on. One of each per process."""

    client: Client
    informers: Mapping[type[Object], Informer[Any]]
    followers: Mapping[type[Object], Follower[Any]]
    reviews: AccessReviews
    queue: Queue
    calls: Calls
    expectations: Expectations
    events: Events
    metrics: Metrics
    clock: Clock


class Passes:
    def __init__(self, services: Services, waker: Waker, owners: Owners) -> None:
        self._services = services
        self._waker = waker
        self._owners = owners
        self._speaker = Speaker(services.client, services.events, services.clock)
        self._clients = {one.name: services.client.named(one.manager) for one in waker.controllers.values()}
        self._appliers = {name: self._applier(client) for name, client in self._clients.items()}
        self._woken: dict[Item, float] = {}  # since when a key has something to do
        self._passed: dict[Item, float] = {}  # when a key that keeps a spacing had its last pass
        self._awaiting: dict[Item, float] = {}  # since when a key's first statement waits for reports

    def _applier(self, client: Client) -> Applier:
        services = self._services
        return Applier(
            client,
            services.informers,
            services.expectations,
            services.clock,
            services.metrics,
            services.followers,
        )

    def start(self) -> None:
        """This process leads from now on."""
        self._speaker.started = self._services.clock.monotonic()

    def woken(self, item: Item) -> float:
        """The key has something to do; in so many seconds it may, if its controller keeps its passes apart."""
        now = self._services.clock.monotonic()
        self._woken.setdefault(item, now)
        spacing = self._waker.controllers[item.kind].spacing
        return self._passed.get(item, float("-inf")) + spacing - now if spacing else 0.0

    async def run(self, item: Item) -> None:
        controller = self._waker.controllers[item.kind]
        services = self._services
        view = View(services.informers, services.clock.monotonic(), services.followers, services.reviews)
        if controller.spacing:
            self._passed[item] = view.now
        if isinstance(controller, Controller):
            await self._of_object(item, controller, view)
        else:
            await self._of_group(item, controller, view)

    async def _of_object(self, item: Item, controller: Controller[Any], view: View) -> None:
        services = self._services
        obj = view.get(controller.kind, item.key)
        results = services.calls.results(item, "" if obj is None else obj.uid)
        seen = None if obj is None else controller.observe(view, obj, results)
        if obj is None or seen is None:
            self._forget(item, view)
            return
        if controller.rivals is not None and (rival := controller.rivals.notice(view, obj)) and not obj.deleting:
            self._stand_back(item, view)
            if not isinstance(controller.status, ByEntry) or controller.status.spoken(obj):
                services.events.notice(obj, controller.rivals.told(rival))
            return
        wanted = controller.desire(seen)
        existing = self._existing(item, controller, obj, wanted, view)
        if not obj.deleting and (marks := missing_marks(controller, obj, wanted)):
            obj = await patch_metadata(self._clients[item.kind], obj, marks)
            self._written(item, obj, "")
        services.calls.want(item, obj.uid, wanted.calls)
        answers, trouble = await self._appliers[item.kind].ensure(
            item, obj, controller.ownership, wanted.children, lasting=services.queue.failures(item) >= LASTING
        )
        self._heed(item, trouble)
        pruning = await self._appliers[item.kind].prune(item, existing, wanted.children.values())
        if obj.deleting and not wanted.finalizer and not pruning:
            await self._let_go(item, controller, obj)
        else:
            judged = controller.judge(seen, answers)
            answers_due = self._answers_due(item, controller, results, judged)
            await self._say(item, controller, obj, judged, answers_due)
            for notice in controller.announce(seen, answers) if controller.announce else ():
                services.events.notice(obj, notice)
        self._come_again(item, view, answers, trouble)

    async def _of_group(self, item: Item, controller: Group[Any], view: View) -> None:
        services = self._services
        if controller.rivals is not None and controller.rivals.speaking(view):
            self._stand_back(item, view)
            return
        seen = controller.observe(view, item.key, services.calls.results(item, ""))
        if seen is None:
            controller.reports.publish(item.key, {})
            self._forget(item, view)
            return
        owner = Object(metadata=ObjectMeta(name=item.key.name, namespace=item.key.namespace))
        wanted = controller.desire(seen)
        existing = self._existing(item, controller, owner, wanted, view)
        services.calls.want(item, "", wanted.calls)
        answers, trouble = await self._appliers[item.kind].ensure(
            item, owner, controller.ownership, wanted.children, lasting=services.queue.failures(item) >= LASTING
        )
        self._heed(item, trouble)
        await self._appliers[item.kind].prune(item, existing, wanted.children.values())
        reports = controller.report(seen, answers)
        (controller.reports.amend if controller.amends else controller.reports.publish)(item.key, reports)
        self._come_again(item, view, answers, trouble)
        if not (wanted.children or wanted.calls or existing or reports):
            self._forget(item, view)

    def _stand_back(self, item: Item, view: View) -> None:
        """Somebody else answers to our name: everything stays as it is, until that has been quiet for a while."""
        services = self._services
        self._waker.dependencies.record(item, view.reads)
        services.calls.forget(item)
        services.queue.succeeded(item)
        services.queue.add_after(item, view.again - view.now)

    def _heed(self, item: Item, trouble: Retry | None) -> None:
        """Whatever else comes of this pass, the key does not come back before the time the server has asked for."""
        if trouble is not None and trouble.after:
            self._services.queue.hold(item, trouble.after)

    def _existing(self, item: Item, controller: Declaration, owner: Object, wanted: Wanted, view: View) -> list[Object]:
        """Our children as the cache has them. Wanted names are read too: a stranger on one wakes us when it goes."""
        for child in wanted.children.values():
            view.child(type(child), child.key)
        token = controller.ownership.token(owner)
        found = [child for kind in controller.children for child in view.by(self._owners[(item.kind, kind)], token)]
        self._waker.dependencies.record(item, view.reads)
        return found

    def _answers_due(self, item: Item, controller: Controller[Any], results: Results, judged: Any) -> float | None:
        """Since when answers are under way: to the key's own calls, or reports that it judges from."""
        since = self._services.calls.waiting_since(item, results)
        if since is not None:
            return since
        if any(isinstance(condition, Awaited) for condition in controller.status.statements(judged).values()):
            return self._awaiting.setdefault(item, self._services.clock.monotonic())
        self._awaiting.pop(item, None)
        return None

    async def _let_go(self, item: Item, controller: Controller[Any], obj: Any) -> None:
        if metadata := without_finalizer(controller, obj):
            self._written(item, await patch_metadata(self._clients[item.kind], obj, metadata), "")

    async def _say(
        self, item: Item, controller: Controller[Any], obj: Any, judged: Any, answers_due: float | None
    ) -> None:
        services = self._services
        said = await self._speaker.say(controller, obj, judged, answers_due)
        if said.again is not None:
            services.queue.add_after(item, said.again)
        if said.written is None:
            return
        self._waker.echo(item, said.written.metadata.resource_version)
        self._written(item, said.written, "status")
        if (woken := self._woken.pop(item, None)) is not None:
            services.metrics.event_to_status.labels(item.kind).observe(services.clock.monotonic() - woken)

    def _written(self, item: Item, obj: Object, subresource: str) -> None:
        services = self._services
        services.metrics.writes.labels(obj.RESOURCE.kind, "patch", subresource).inc()
        services.expectations.written(
            item, services.informers[type(obj)], obj.key, obj.metadata.resource_version, services.clock.monotonic()
        )

    def _come_again(self, item: Item, view: View, answers: Answers, trouble: Retry | None) -> None:
        queue = self._services.queue
        self._woken.pop(item, None)
        again = min(view.again, self._services.calls.expiry(item))
        if again != float("inf"):
            queue.add_after(item, again - view.now)
        if trouble is not None or answers.refusals:
            queue.add_failed(item, (trouble.after or 0.0) if trouble else 0.0)
        else:
            queue.succeeded(item)

    def _forget(self, item: Item, view: View) -> None:
        """Nothing is to be done for it. If it is there all the same, what it depends on may change that; of what is
        gone nothing is remembered: whoever belongs to it next wakes it again."""
        services = self._services
        services.calls.forget(item)
        services.expectations.forget(item)
        services.queue.succeeded(item)
        services.queue.cancel(item)
        self._waker.forget(item)
        controller = self._waker.controllers[item.kind]
        if controller.rivals is not None and isinstance(controller, Controller):
            controller.rivals.forget(controller.kind, item.key)
        self._woken.pop(item, None)
        self._passed.pop(item, None)
        self._awaiting.pop(item, None)
        if len(view.reads) > 1 if isinstance(controller, Controller) else self._waker.alive(item, controller):
            self._waker.dependencies.record(item, view.reads)
