"""PersistentVolumeClaims without a storage class: each is bound to a directory of this machine.

- A claim is bound to a volume of its own, `pvc-UID`, as soon as it is there; the embedded cluster has no objects for
  volumes.
- A claim that is deleted goes when no Pod uses it any more; with it goes its directory.
- A claim that names a volume or a storage class is left alone.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import msgspec
import structlog

from seamark_runtime.api.core import Pod
from seamark_runtime.api.meta import Key
from seamark_runtime.api.volumes import BoundClaim
from seamark_runtime.client import Client
from seamark_runtime.source import Informer
from seamark_runtime.transport import HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import ApiPath

log = structlog.get_logger(__name__)

PROTECTION = "kubernetes.io/pvc-protection"
MERGE = "application/merge-patch+json"
AGAIN = 5.0  # seconds; what was refused, or not answered, is tried again
TRIES, PAUSE = 40, 0.05  # of a Pod whose claim is not bound yet, and seconds between them
OVER = ("Succeeded", "Failed")


class LocalVolumes:
    """Runs until cancelled. What the API server refuses is logged, and tried again."""

    def __init__(self, client: Client, claims: Informer[BoundClaim], pods: Informer[Pod], directory: Path) -> None:
        self._client = client
        self._claims = claims
        self._pods = pods
        self._directory = directory
        self._changed = asyncio.Event()
        claims.on_change(lambda _source, _change: self._changed.set())
        pods.on_change(lambda _source, _change: self._changed.set())

    async def run(self) -> None:
        while True:
            self._changed.clear()
            for claim in tuple(self._claims.cache):
                try:
                    await self._reconcile(claim)
                except (NoAnswerError, OSError) as error:
                    log.info("volume not provided", claim=str(claim.key), error=str(error))
            try:
                async with asyncio.timeout(AGAIN):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def provided(self, key: Key) -> Path | None:
        """The directory of a claim, which may be about to be bound; None if it is not from here."""
        for _ in range(TRIES):
            claim = self._claims.cache.get(key)
            if claim is not None and claim.spec.volume_name:
                return self._directory / name_of(claim) if claim.spec.volume_name == name_of(claim) else None
            await asyncio.sleep(PAUSE)
        return None

    async def _reconcile(self, claim: BoundClaim) -> None:
        if claim.deleting:
            if PROTECTION in (claim.metadata.finalizers or ()) and not self._used(claim):
                await self._remove(claim)
        elif not claim.spec.volume_name and not claim.spec.storage_class_name:
            await self._bind(claim)

    def _used(self, claim: BoundClaim) -> bool:
        return any(
            volume.persistent_volume_claim is not None
            and volume.persistent_volume_claim.claim_name == claim.metadata.name
            for pod in self._pods.cache
            if pod.metadata.namespace == claim.metadata.namespace and pod.status.phase not in OVER
            for volume in pod.spec.volumes or ()
        )

    async def _bind(self, claim: BoundClaim) -> None:
        volume = name_of(claim)
        (self._directory / volume).mkdir(parents=True, exist_ok=True)
        capacity = (claim.spec.resources or {}).get("requests")
        bound = {"phase": "Bound", "capacity": capacity, "accessModes": claim.spec.access_modes}
        path = claim.RESOURCE.path(claim.metadata.namespace, claim.metadata.name)
        if await self._patch(path, {"metadata": {"uid": claim.uid}, "spec": {"volumeName": volume}}):
            status = claim.RESOURCE.path(claim.metadata.namespace, claim.metadata.name, "status")
            await self._patch(status, {"metadata": {"uid": claim.uid}, "status": bound})

    async def _remove(self, claim: BoundClaim) -> None:
        finalizers = [each for each in claim.metadata.finalizers or () if each != PROTECTION]
        meta = {"uid": claim.uid, "resourceVersion": claim.metadata.resource_version, "finalizers": finalizers}
        path = claim.RESOURCE.path(claim.metadata.namespace, claim.metadata.name)
        if await self._patch(path, {"metadata": meta}):
            await asyncio.to_thread(shutil.rmtree, self._directory / name_of(claim), ignore_errors=True)

    async def _patch(self, path: ApiPath, document: dict[str, Any]) -> bool:
        """Whether it is done."""
        body = msgspec.json.encode(document)
        answer = await self._client.transport.send(HttpRequest("PATCH", path, body=body, content_type=MERGE))
        if answer.status >= 300:
            log.info("volume not provided", path=str(path), status=answer.status, answer=answer.body[:200].decode())
        return answer.status < 300


def name_of(claim: BoundClaim) -> str:
    return f"pvc-{claim.uid}"
