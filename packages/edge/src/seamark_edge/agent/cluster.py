"""The AgentEndpoints of a cluster, followed: with their policies, and the Secrets that they name."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from random import Random
from typing import Any

import structlog

from seamark_edge.agent.model import Holder, Problem
from seamark_edge.agent.places import Places
from seamark_edge.agent.wanted import NotAllowed, NotKnownYet, Objects, Unusable, policy_of, tunnel_of
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_edge.model import Owner
from seamark_runtime.api.core import Namespace, Secret, Service
from seamark_runtime.api.gateway import ReferenceGrant
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.client import Client
from seamark_runtime.errors import SeamarkError, UserError
from seamark_runtime.follow import Follower, Unreadable
from seamark_runtime.grants import GRANTS, Referrer, granted
from seamark_runtime.queue import Queue
from seamark_runtime.rbac import FOLLOW, SINGLE, Grant, on
from seamark_runtime.request import Request
from seamark_runtime.source import SYNCED, Fresh, Informer, Intent, NotYet, Source
from seamark_runtime.upstreams import UpstreamRules
from seamark_runtime.view import RecordedReads, View
from seamark_runtime.watch import Watch

log = structlog.get_logger(__name__)

KIND = AgentEndpoint.RESOURCE.kind
WORKERS = 8
SECRET_SECONDS = 5.0


OLDEST = "kube-system"


def agent_grants() -> set[Grant]:
    """What an agent may do: follow endpoints, policies and grants, read the Secrets they name, tell its cluster."""
    followed = on(AgentEndpoint, FOLLOW) | on(CloudEndpoint, FOLLOW)
    followed |= on(NgrokTrafficPolicy, FOLLOW) | on(ReferenceGrant, FOLLOW)
    return followed | on(Secret, SINGLE) | on(Namespace, SINGLE, name=OLDEST)


async def cluster_uid(client: Client) -> str:
    """Who this cluster is: the uid of its oldest namespace."""
    return (await client.get(Namespace, Key("", OLDEST))).uid


class ClusterEndpoints:
    """Follows AgentEndpoints and tells a holder what is wanted.

    - Nothing is concluded from an absence before the first full answer; one bad endpoint delays no other.
    - An endpoint that can't be held as it is now (a Secret is missing) stays as it was held before, if it was;
      `problems` has the reason, which the holder gets, too. It is reconciled when one of the objects that it names
      changes.
    - An endpoint that is being deleted is released at once.
    - An endpoint whose upstream, place or forward is not allowed, or not any more, is released at once. A place belongs
      to one namespace (see `claims` and `forwards`).
    - Secrets are read one by one, by name: the right to list them is not needed.
    - With a namespace only that one is followed, and no grants of others: none of them can be reached. Which places
      belong to others is known from the operator alone.
    """

    def __init__(
        self,
        client: Client,
        random: Random,
        cluster: str,
        namespace: str = "",
        rules: UpstreamRules = UpstreamRules(),  # noqa: B008
    ) -> None:
        self._cluster = cluster
        self._rules = rules
        self._endpoints = Informer(Watch(client, AgentEndpoint, random, namespace=namespace))
        self._policies = Informer(Watch(client, NgrokTrafficPolicy, random, namespace=namespace), optional=True)
        self._secrets = Follower(client, Secret, random, SECRET_SECONDS)
        self._informers: dict[type[Object], Informer[Any]] = {
            AgentEndpoint: self._endpoints,
            NgrokTrafficPolicy: self._policies,
        }
        self._places = Places(any_binding=rules.cross_namespace_bindings)
        self._endpoints.on_change(self._places.changed)
        if not namespace:
            grants = Informer(Watch(client, ReferenceGrant, random), (GRANTS,), optional=True)
            self._informers[ReferenceGrant] = grants
            clouds = Informer(Watch(client, CloudEndpoint, random), optional=True)
            clouds.on_change(self._places.changed)
            self._informers[CloudEndpoint] = clouds
        self._queue = Queue(random, per_namespace=WORKERS // 2)
        self._dependencies = RecordedReads()
        self.problems: dict[Key, str] = {}
        for source in (*self._informers.values(), self._secrets, *self._places.sources):
            source.subscribe(self._changed)

    def missing(self) -> list[str]:
        troubles = [informer.trouble for informer in self._informers.values() if informer.trouble]
        waiting = [f"waiting for {informer.name}" for informer in self._informers.values() if not informer.synced]
        return troubles or waiting

    async def run(self, holder: Holder) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for informer in self._informers.values():
                    group.create_task(informer.watch.run(informer.handle))
                for _ in range(WORKERS):
                    group.create_task(self._work(holder))
        finally:
            await self._secrets.stop()
            self._queue.close()

    def _changed(self, source: Source, token: Hashable) -> None:
        if not all(informer.synced for informer in self._informers.values()):
            return
        if token == SYNCED:
            for endpoint in self._endpoints.cache:
                self._queue.add(Request(KIND, endpoint.key))
            return
        if source is self._endpoints and isinstance(token, Intent) and isinstance(token.key, Key):
            self._queue.add(Request(KIND, token.key))
        for item in self._dependencies.readers(source, token):
            self._queue.add(item)

    async def _work(self, holder: Holder) -> None:
        while True:
            item = await self._queue.take()
            try:
                await self._pass(holder, item)
                self._queue.succeeded(item)
            except SeamarkError as error:
                log.warning("endpoint not settled, it is tried again", endpoint=str(item.key), error=error.message)
                self._queue.add_failed(item)
            except Exception:
                log.exception("endpoint failed", endpoint=str(item.key))
                self._queue.add_failed(item, at_least=5.0)
            finally:
                self._queue.done(item)

    async def _pass(self, holder: Holder, item: Request) -> None:
        view = View(self._informers, 0.0, {Secret: self._secrets})
        endpoint = view.intent(AgentEndpoint, item.key)
        if endpoint is None or endpoint.deleting:
            self._dependencies.forget(item)
            self._solved(holder, item.key)
            await holder.release(str(item.key))
            return
        try:
            if reason := self._places.refusal(view, endpoint):
                raise NotAllowed(reason)
            objects = self._objects(view)
            self._check_forwards(view, endpoint, objects)
            wanted = tunnel_of(endpoint, objects, rules=self._rules)
            await holder.hold(str(item.key), wanted)
        except NotKnownYet:
            return
        except NotAllowed as error:
            self._problem(holder, endpoint, str(error))
            await holder.release(str(item.key))
        except (Unusable, UserError) as error:
            self._problem(holder, endpoint, str(error))
        else:
            self._solved(holder, item.key)
        finally:
            self._dependencies.record(item, view.reads)

    def _check_forwards(self, view: View, endpoint: AgentEndpoint, objects: Objects) -> None:
        def allowed(referrer: Referrer, kind: str, key: Key) -> bool:
            return self._granted(view, referrer, endpoint.RESOURCE.group, kind, key)

        if self._rules.cross_namespace:
            return
        if reason := self._places.forward_refusal(view, endpoint, policy_of(endpoint, objects), allowed):
            raise NotAllowed(reason)

    def _granted(self, view: View, referrer: Referrer, group: str, kind: str, key: Key) -> bool:
        if key.namespace == referrer.namespace:
            return True
        return ReferenceGrant in self._informers and granted(view, referrer, group, kind, key)

    def _objects(self, view: View) -> Objects:
        def allowed(referrer: Referrer, service: Key) -> bool:
            return self._granted(view, referrer, "", Service.RESOURCE.kind, service)

        return Objects(lambda key: view.get(NgrokTrafficPolicy, key), _secret(view), allowed)

    def _problem(self, holder: Holder, endpoint: AgentEndpoint, reason: str) -> None:
        key = endpoint.key
        if self.problems.get(key) != reason:
            log.warning("endpoint can't be held", endpoint=str(key), reason=reason)
        self.problems[key] = reason
        owner = Owner(self._cluster, key.namespace, key.name, endpoint.uid)
        holder.report(str(key), Problem(owner.key, endpoint.spec.url, endpoint.metadata.generation, reason))

    def _solved(self, holder: Holder, key: Key) -> None:
        self.problems.pop(key, None)
        holder.report(str(key), None)


def _secret(view: View) -> Any:
    def look(key: Key) -> Secret | None:
        match view.single(Secret, key):
            case Fresh(value=secret):
                return secret
            case NotYet():
                raise NotKnownYet
            case Unreadable(message=message):
                raise Unusable(f"the Secret {key.name} can't be read: {message}")
        return None

    return look
