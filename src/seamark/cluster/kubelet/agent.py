"""The kubelet itself: Pods in, processes on, status out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import structlog

from seamark.api.core import Binding, BindingTarget, ConfigMap, Pod, Secret, TokenFile
from seamark.api.meta import Key, ObjectMeta, document
from seamark.api.volumes import BoundClaim, PersistentVolume
from seamark.cluster.kubelet.environment import NotConfigured
from seamark.cluster.kubelet.host import Host
from seamark.cluster.kubelet.life import Life
from seamark.cluster.kubelet.status import judge
from seamark.core.backoff import Backoff
from seamark.core.cache import Change
from seamark.core.client import Client, failure
from seamark.core.clock import Clock, timestamp
from seamark.core.errors import Conflict, Exists, Gone, Refused, Retry, SeamarkError
from seamark.core.queue import Item, Queue
from seamark.core.source import Informer
from seamark.core.transport import NoAnswerError, Request
from seamark.core.watch import number

log = structlog.get_logger(__name__)

LINGER = 0.5  # seconds that a first status waits for a Pod to be ready: mostly one write instead of three
WORKERS = 32
DEFAULT_GRACE = 30.0


@dataclass(frozen=True)
class Followed:
    """The kinds that a kubelet follows."""

    pods: Informer[Pod]
    config_maps: Informer[ConfigMap]
    secrets: Informer[Secret]


@dataclass
class _Said:
    """What we wrote last about a Pod, and the version it got by that."""

    status: Mapping[str, Any] | None = None
    version: str = ""


class Kubelet:
    """Runs the Pods of one node.

    - Pods that nobody has scheduled are bound to this node, unless they have gates.
    - A pass over a key does the one next thing: bind, start, end, delete, or say the status if it differs. Processes
      are never waited for in a pass: a Pod's `Life` goes on beside, and wakes the key with each new fact.
    - Status by server-side apply with the version it was judged from; conditions of others are not touched.
    - A Pod that is being deleted is removed from the API only when nothing of it runs any more.
    """

    def __init__(self, client: Client, followed: Followed, host: Host) -> None:
        self._client = client
        self._followed = followed
        self._host = host
        self._clock: Clock = host.clock
        self._queue = Queue(Random(), Backoff(first=0.05, most=30.0))
        self._begun: dict[str, float] = {}
        self._said: dict[str, _Said] = {}
        self.lives: dict[Key, Life] = {}
        followed.pods.on_change(self._pod_changed)
        followed.config_maps.on_change(self._surroundings_changed)
        followed.secrets.on_change(self._surroundings_changed)

    async def run(self) -> None:
        await all_synced((self._followed.config_maps, self._followed.secrets))
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def close(self, grace: float = 2.0) -> None:
        """Ends every Pod's processes; the Pods stay in the API, for whoever comes next."""
        lives = list(self.lives.values())
        for life in lives:
            life.terminate(grace)
        await asyncio.gather(*(life.ended() for life in lives))
        for life in lives:
            life.remove()
        self._queue.close()

    # ---- what wakes a key

    def _pod_changed(self, _: object, change: Change[Pod]) -> None:
        self._queue.add(Item("Pod", change.key))

    def _surroundings_changed(self, _: object, change: Change[Any]) -> None:
        for key, life in self.lives.items():
            if key.namespace == change.key.namespace:
                life.refresh()

    # ---- one pass

    async def _work(self) -> None:
        while True:
            item = await self._queue.take()
            try:
                await self._pass(item)
                self._queue.succeeded(item)
            except (Gone, Conflict):
                self._queue.add_failed(item)  # the watch shows what it is now, perhaps before that
            except Retry as error:
                self._queue.add_failed(item, error.after or 0.0)
            except SeamarkError as error:
                log.warning("a Pod's status was not taken", pod=str(item.key), error=error.message)
                self._queue.add_failed(item)
            except Exception:
                log.exception("a pass failed", pod=str(item.key))
                self._queue.add_failed(item)
            finally:
                self._queue.done(item)

    async def _pass(self, item: Item) -> None:
        pod, life = self._followed.pods.cache.get(item.key), self.lives.get(item.key)
        if life is not None and (pod is None or pod.uid != life.pod.uid):
            self._abandon(item.key, life)
            return
        if pod is None:
            return
        if not pod.spec.node_name:
            if await self._bind(pod):  # the watch will show the same in a moment; there is no need to wait for it
                self.lives[item.key] = self._begin(item, pod)
        elif pod.spec.node_name == self._host.name:
            await self._tend(item, pod, life)

    def _abandon(self, key: Key, life: Life) -> None:
        """The Pod went without us, by force: so do its processes. Its name may already be another's."""
        if life.over:
            self._forget(key, life)
            self._queue.add(Item("Pod", key))
        else:
            life.terminate(0)

    def _forget(self, key: Key, life: Life) -> None:
        life.remove()
        self.lives.pop(key, None)
        self._said.pop(life.pod.uid, None)
        self._begun.pop(life.pod.uid, None)

    async def _bind(self, pod: Pod) -> bool:
        """Whether it is ours now."""
        if pod.deleting or pod.spec.scheduling_gates or pod.key in self.lives:
            return False
        meta = ObjectMeta(name=pod.metadata.name, namespace=pod.metadata.namespace, uid=pod.uid)
        binding = Binding(metadata=meta, target=BindingTarget(name=self._host.name))
        try:
            await self._send("POST", Pod.RESOURCE.path(*pod.key, "binding"), document(binding))
        except (Conflict, Exists, Refused) as error:
            log.info("a Pod was not bound", pod=str(pod.key), error=error.message)
            return False
        return True

    def _begin(self, item: Item, pod: Pod) -> Life:
        self._begun[pod.uid] = self._clock.monotonic()
        return Life(self._host, pod, lambda: self._queue.add(item))

    async def _tend(self, item: Item, pod: Pod, life: Life | None) -> None:
        if life is None:
            if pod.deleting:
                await self._delete(pod)
                return
            if pod.finished:
                return
            life = self.lives[item.key] = self._begin(item, pod)
        life.update(pod)
        if pod.deleting:
            grace = pod.metadata.deletion_grace_period_seconds
            life.terminate(DEFAULT_GRACE if grace is None else float(grace))
            if life.over:
                await self._delete(pod)
                self._forget(item.key, life)
                return
        await self._say(item, pod, life)

    async def _say(self, item: Item, pod: Pod, life: Life) -> None:
        said = self._said.setdefault(pod.uid, _Said())
        before = [msgspec.to_builtins(one) for one in pod.status.conditions or ()]
        if said.status is not None:
            before = said.status["conditions"]
        status = judge(pod, life.facts, before, timestamp(self._clock.wall()))
        if status == said.status:
            return
        age = self._clock.monotonic() - self._begun[pod.uid]
        if said.status is None and not life.ready and not life.facts.finished and age < LINGER:
            self._queue.add_after(item, LINGER - age)
            return
        version = max(pod.metadata.resource_version, said.version, key=number)
        fields = {"metadata": {"resourceVersion": version}, "status": status}
        written = await self._client.apply(Pod, pod.key, fields, "status")
        said.status, said.version = status, written.metadata.resource_version

    async def _delete(self, pod: Pod) -> None:
        """Nothing of it runs: the API server may forget it."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
        try:
            await self._send("DELETE", Pod.RESOURCE.path(*pod.key), options)
        except (Gone, Conflict):
            return  # it is gone, or another has its name

    async def token(self, pod: Pod, wanted: TokenFile) -> bytes:
        """A token of the Pod's service account, bound to the Pod."""
        account = pod.spec.service_account_name or "default"
        spec = {
            "audiences": [wanted.audience] if wanted.audience else [],
            "expirationSeconds": max(600, wanted.expiration_seconds),
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.uid},
        }
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/serviceaccounts/{account}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await self._send("POST", path, body)
        return str(msgspec.json.decode(answer)["status"]["token"]).encode()

    async def claimed(self, claim: Key) -> Path:
        """The directory of this machine that a claim stands for."""
        try:
            volume = (await self._client.get(BoundClaim, claim)).spec.volume_name
            if not volume:
                raise NotConfigured(f'persistentvolumeclaim "{claim.name}" is not bound; nothing is provisioned here')
            found = (await self._client.get(PersistentVolume, Key("", volume))).spec
        except Gone as error:
            raise NotConfigured(error.message) from None
        place = found.host_path or found.local
        if place is None:
            raise NotConfigured(f'persistentvolume "{volume}" is no directory of this machine (hostPath or local)')
        return Path(place.path)

    async def _send(self, method: str, path: str, body: object) -> bytes:
        """Requests that the client has no verb for."""
        request = Request(method, path, body=msgspec.json.encode(body), timeout=self._client.timeout)
        try:
            answer = await self._client.transport.send(request)
        except NoAnswerError as error:
            raise Retry(str(error)) from error
        if answer.status >= 300:
            raise failure(request, answer)
        return answer.body


async def all_synced(informers: Iterable[Informer[Any]]) -> None:
    """Returns when each has its first full answer."""
    informers = tuple(informers)
    told = asyncio.Event()
    for informer in informers:
        informer.subscribe(lambda _source, _token: told.set())
    while not all(informer.synced for informer in informers):
        told.clear()
        await told.wait()


class Namespaced:
    """The ConfigMaps and Secrets of one namespace, as the caches have them."""

    def __init__(self, namespace: str, config_maps: Informer[ConfigMap], secrets: Informer[Secret]) -> None:
        self._namespace = namespace
        self._config_maps = config_maps
        self._secrets = secrets

    def config_map(self, name: str) -> ConfigMap | None:
        return self._config_maps.cache.get(Key(self._namespace, name))

    def secret(self, name: str) -> Secret | None:
        return self._secrets.cache.get(Key(self._namespace, name))
