"""The kubelet: reconciles Pods into processes, and writes their status."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import structlog

from seamark_cluster.controllers.workload.kinds import ServiceAccount
from seamark_cluster.kubelet.environment import NotConfigured
from seamark_cluster.kubelet.host import Host
from seamark_cluster.kubelet.status import judge
from seamark_cluster.kubelet.worker import PodWorker
from seamark_runtime.api.core import Binding, BindingTarget, ConfigMap, Pod, Secret, TokenFile
from seamark_runtime.api.meta import Key, ObjectMeta, document
from seamark_runtime.api.volumes import BoundClaim, PersistentVolume
from seamark_runtime.backoff import Backoff
from seamark_runtime.cache import Change
from seamark_runtime.client import Client, failure, path_of
from seamark_runtime.clock import Clock, timestamp
from seamark_runtime.errors import Conflict, Exists, Gone, Refused, Retry, SeamarkError
from seamark_runtime.queue import Queue
from seamark_runtime.request import Request
from seamark_runtime.source import Informer
from seamark_runtime.transport import HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import ApiPath
from seamark_runtime.watch import number

log = structlog.get_logger(__name__)

LINGER = 0.5  # seconds that the first status waits for a Pod to become ready: mostly one write instead of three
WORKERS = 32
DEFAULT_GRACE = 30.0


@dataclass(frozen=True)
class Followed:
    """The informers of the kinds that a kubelet follows."""

    pods: Informer[Pod]
    config_maps: Informer[ConfigMap]
    secrets: Informer[Secret]


@dataclass
class _Written:
    """The last written status of a Pod, and its resourceVersion."""

    status: Mapping[str, Any] | None = None
    version: str = ""


class Kubelet:
    """Runs the Pods of one node.

    - Unscheduled Pods are bound to this node, unless they have scheduling gates.
    - A reconcile does the one next step: bind, start, stop, delete, or write the status if it differs. It never waits
      for processes: a Pod's `PodWorker` runs beside it, and requeues the key with each new fact.
    - Status by server-side apply with the resourceVersion it was judged from; foreign conditions are not changed.
    - A terminating Pod is removed from the API only when none of its processes runs.
    """

    def __init__(self, client: Client, followed: Followed, host: Host) -> None:
        self._client = client
        self._followed = followed
        self._host = host
        self._clock: Clock = host.clock
        self._queue = Queue(Random(), Backoff(first=0.05, most=30.0))
        self._begun: dict[str, float] = {}
        self._written: dict[str, _Written] = {}
        self.workers: dict[Key, PodWorker] = {}
        followed.pods.on_change(self._pod_changed)
        followed.config_maps.on_change(self._reference_changed)
        followed.secrets.on_change(self._reference_changed)

    async def run(self) -> None:
        await all_synced((self._followed.config_maps, self._followed.secrets))
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def close(self, grace: float = 2.0) -> None:
        """Ends every Pod's processes; the Pods stay in the API, for the next kubelet."""
        workers = list(self.workers.values())
        for worker in workers:
            worker.terminate(grace)
        await asyncio.gather(*(worker.ended() for worker in workers))
        for worker in workers:
            worker.remove()
        self._queue.close()

    # ---- events that requeue a key

    def _pod_changed(self, _: object, change: Change[Pod]) -> None:
        self._queue.add(Request("Pod", change.key))

    def _reference_changed(self, _: object, change: Change[Any]) -> None:
        for key, worker in self.workers.items():
            if key.namespace == change.key.namespace:
                worker.refresh()

    # ---- one reconcile

    async def _work(self) -> None:
        while True:
            item = await self._queue.take()
            try:
                await self._pass(item)
                self._queue.succeeded(item)
            except (Gone, Conflict):
                self._queue.add_failed(item)  # the object changed; the watch event requeues the key
            except Retry as error:
                self._queue.add_failed(item, error.after or 0.0)
            except SeamarkError as error:
                log.warning("Pod status refused", pod=str(item.key), error=error.message)
                self._queue.add_failed(item)
            except Exception:
                log.exception("Pod reconcile failed", pod=str(item.key))
                self._queue.add_failed(item)
            finally:
                self._queue.done(item)

    async def _pass(self, item: Request) -> None:
        pod, worker = self._followed.pods.cache.get(item.key), self.workers.get(item.key)
        if worker is not None and (pod is None or pod.uid != worker.pod.uid):
            self._abandon(item.key, worker)
            return
        if pod is None:
            return
        if not pod.spec.node_name:
            if await self._bind(pod):  # the cache gets the response at once, without waiting for the watch
                self.workers[item.key] = self._begin(item, pod)
        elif pod.spec.node_name == self._host.name:
            await self._advance(item, pod, worker)

    def _abandon(self, key: Key, worker: PodWorker) -> None:
        """The Pod was deleted by force: its processes are ended. Another Pod may already have its name."""
        if worker.over:
            self._forget(key, worker)
            self._queue.add(Request("Pod", key))
        else:
            worker.terminate(0)

    def _forget(self, key: Key, worker: PodWorker) -> None:
        worker.remove()
        self.workers.pop(key, None)
        self._written.pop(worker.pod.uid, None)
        self._begun.pop(worker.pod.uid, None)

    async def _bind(self, pod: Pod) -> bool:
        """Whether it is bound to this node now."""
        if pod.deleting or pod.spec.scheduling_gates or pod.key in self.workers:
            return False
        meta = ObjectMeta(name=pod.metadata.name, namespace=pod.metadata.namespace, uid=pod.uid)
        binding = Binding(metadata=meta, target=BindingTarget(name=self._host.name))
        try:
            await self._send("POST", path_of(Pod, pod.key, "binding"), document(binding))
        except (Conflict, Exists, Refused) as error:
            log.info("Pod not bound", pod=str(pod.key), error=error.message)
            return False
        return True

    def _begin(self, item: Request, pod: Pod) -> PodWorker:
        self._begun[pod.uid] = self._clock.monotonic()
        return PodWorker(self._host, pod, lambda: self._queue.add(item))

    async def _advance(self, item: Request, pod: Pod, worker: PodWorker | None) -> None:
        if worker is None:
            if pod.deleting:
                await self._delete(pod)
                return
            if pod.finished:
                return
            worker = self.workers[item.key] = self._begin(item, pod)
        worker.update(pod)
        if pod.deleting:
            grace = pod.metadata.deletion_grace_period_seconds
            worker.terminate(DEFAULT_GRACE if grace is None else float(grace))
            if worker.over:
                await self._delete(pod)
                self._forget(item.key, worker)
                return
        await self._write_status(item, pod, worker)

    async def _write_status(self, item: Request, pod: Pod, worker: PodWorker) -> None:
        last = self._written.setdefault(pod.uid, _Written())
        before = [msgspec.to_builtins(condition) for condition in pod.status.conditions or ()]
        if last.status is not None:
            before = last.status["conditions"]
        status = judge(pod, worker.facts, before, timestamp(self._clock.wall()))
        if status == last.status:
            return
        age = self._clock.monotonic() - self._begun[pod.uid]
        if last.status is None and not worker.ready and not worker.facts.finished and age < LINGER:
            self._queue.add_after(item, LINGER - age)
            return
        version = max(pod.metadata.resource_version, last.version, key=number)
        fields = {"metadata": {"resourceVersion": version}, "status": status}
        written = await self._client.apply(Pod, pod.key, fields, "status")
        last.status, last.version = status, written.metadata.resource_version

    async def _delete(self, pod: Pod) -> None:
        """None of its processes runs: it is deleted from the API."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
        try:
            await self._send("DELETE", path_of(Pod, pod.key), options)
        except (Gone, Conflict):
            return  # it is gone, or another Pod has its name

    async def token(self, pod: Pod, wanted: TokenFile) -> bytes:
        """A token of the Pod's ServiceAccount, bound to the Pod."""
        account = pod.spec.service_account_name or "default"
        spec = {
            "audiences": [wanted.audience] if wanted.audience else [],
            "expirationSeconds": max(600, wanted.expiration_seconds),
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.uid},
        }
        path = path_of(ServiceAccount, Key(pod.metadata.namespace, account), "token")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await self._send("POST", path, body)
        return str(msgspec.json.decode(answer)["status"]["token"]).encode()

    async def claimed(self, claim: Key) -> Path:
        """The directory on this machine for a PersistentVolumeClaim."""
        try:
            volume = (await self._client.get(BoundClaim, claim)).spec.volume_name
            if not volume:
                raise NotConfigured(f'persistentvolumeclaim "{claim.name}" is not bound; nothing is provisioned here')
            found = (await self._client.get(PersistentVolume, Key("", volume))).spec
        except Gone as error:
            raise NotConfigured(error.message) from None
        place = found.host_path or found.local
        if place is None:
            raise NotConfigured(f'persistentvolume "{volume}" is not a directory of this machine (hostPath or local)')
        return Path(place.path)

    async def _send(self, method: str, path: ApiPath, body: object) -> bytes:
        """Requests for which the client has no method."""
        request = HttpRequest(method, path, body=msgspec.json.encode(body), timeout=self._client.timeout)
        try:
            answer = await self._client.transport.send(request)
        except NoAnswerError as error:
            raise Retry(str(error)) from error
        if answer.status >= 300:
            raise failure(request, answer)
        return answer.body


async def all_synced(informers: Iterable[Informer[Any]]) -> None:
    """Returns when each has its first complete list."""
    informers = tuple(informers)
    changed = asyncio.Event()
    for informer in informers:
        informer.subscribe(lambda _source, _token: changed.set())
    while not all(informer.synced for informer in informers):
        changed.clear()
        await changed.wait()


class Namespaced:
    """The ConfigMaps and Secrets of one namespace, from the caches."""

    def __init__(self, namespace: str, config_maps: Informer[ConfigMap], secrets: Informer[Secret]) -> None:
        self._namespace = namespace
        self._config_maps = config_maps
        self._secrets = secrets

    def config_map(self, name: str) -> ConfigMap | None:
        return self._config_maps.cache.get(Key(self._namespace, name))

    def secret(self, name: str) -> Secret | None:
        return self._secrets.cache.get(Key(self._namespace, name))
