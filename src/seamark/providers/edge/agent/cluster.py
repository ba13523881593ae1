"""The AgentEndpoints of a cluster, followed: with their policies, and the Secrets that they name."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from random import Random
from typing import Any

import structlog

from seamark.api.core import Namespace, Secret
from seamark.api.meta import Key, Object
from seamark.api.ngrok import AgentEndpoint, NgrokTrafficPolicy
from seamark.core.client import Client
from seamark.core.errors import SeamarkError, UserError
from seamark.core.follow import Follower, Unreadable
from seamark.core.queue import Item, Queue
from seamark.core.rbac import FOLLOW, SINGLE, Grant, on
from seamark.core.source import SYNCED, Fresh, Informer, Intent, NotYet, Source
from seamark.core.view import Dependencies, View
from seamark.core.watch import Watch
from seamark.providers.edge.agent.model import Holder
from seamark.providers.edge.agent.wanted import NotKnownYet, Objects, Unusable, tunnel_of

log = structlog.get_logger(__name__)

KIND = AgentEndpoint.RESOURCE.kind
WORKERS = 8
SECRET_SECONDS = 10.0


OLDEST = "kube-system"


def agent_grants() -> set[Grant]:
    """What an agent may do: follow endpoints and policies, read the Secrets they name, tell which cluster it is."""
    followed = on(AgentEndpoint, FOLLOW) | on(NgrokTrafficPolicy, FOLLOW)
    return followed | on(Secret, SINGLE) | on(Namespace, SINGLE, name=OLDEST)


async def cluster_uid(client: Client) -> str:
    """Who this cluster is: the uid of its oldest namespace."""
    return (await client.get(Namespace, Key("", OLDEST))).uid


class ClusterEndpoints:
    """Follows AgentEndpoints and tells a holder what is wanted.

    - Nothing is concluded from an absence before the first full answer; one bad endpoint delays no other.
    - An endpoint that can't be held as it is now (a Secret is missing) stays as it was held before, if it was;
      `problems` says why. It is looked at again when one of the objects that it names changes.
    - An endpoint that is being deleted is released at once.
    - Secrets are read one by one, by name: the right to list them is not needed.
    """

    def __init__(self, client: Client, random: Random, cluster: str, namespace: str = "") -> None:
        self._cluster = cluster
        self._endpoints = Informer(Watch(client, AgentEndpoint, random, namespace=namespace))
        self._policies = Informer(Watch(client, NgrokTrafficPolicy, random, namespace=namespace), optional=True)
        self._secrets = Follower(client, Secret, random, SECRET_SECONDS)
        self._informers: dict[type[Object], Informer[Any]] = {
            AgentEndpoint: self._endpoints,
            NgrokTrafficPolicy: self._policies,
        }
        self._queue = Queue(random)
        self._dependencies = Dependencies()
        self.problems: dict[Key, str] = {}
        for source in (self._endpoints, self._policies, self._secrets):
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
        if not (self._endpoints.synced and self._policies.synced):
            return
        if token == SYNCED:
            for endpoint in self._endpoints.cache:
                self._queue.add(Item(KIND, endpoint.key))
            return
        if source is self._endpoints and isinstance(token, Intent) and isinstance(token.key, Key):
            self._queue.add(Item(KIND, token.key))
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

    async def _pass(self, holder: Holder, item: Item) -> None:
        view = View(self._informers, 0.0, {Secret: self._secrets})
        endpoint = view.intent(AgentEndpoint, item.key)
        if endpoint is None or endpoint.deleting:
            self._dependencies.forget(item)
            self.problems.pop(item.key, None)
            await holder.release(str(item.key))
            return
        try:
            wanted = tunnel_of(endpoint, Objects(lambda key: view.get(NgrokTrafficPolicy, key), _secret(view)))
            await holder.hold(str(item.key), wanted)
        except NotKnownYet:
            return
        except (Unusable, UserError) as error:
            self._problem(item.key, str(error))
        else:
            self.problems.pop(item.key, None)
        finally:
            self._dependencies.record(item, view.reads)

    def _problem(self, key: Key, words: str) -> None:
        if self.problems.get(key) != words:
            log.warning("endpoint can't be held", endpoint=str(key), reason=words)
        self.problems[key] = words


def _secret(view: View) -> Any:
    def look(key: Key) -> Secret | None:
        match view.one(Secret, key):
            case Fresh(value=secret):
                return secret
            case NotYet():
                raise NotKnownYet
            case Unreadable(message=message):
                raise Unusable(f"the Secret {key.name} can't be read: {message}")
        return None

    return look
