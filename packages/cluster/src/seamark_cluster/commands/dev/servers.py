"""Databases of `seamark dev`: what a platform would run for resources of Score files, as programs of this machine.

A claim that waits for its Secret, of a type whose server is installed here, gets what its provisioner describes: the
Secret with generated credentials, a volume, a server and its Service. All go with the claim; those of a shared
resource, which belong to no claim alone, with their namespace. What is there already is left as it is.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from seamark.api.score import ResourceClaim
from seamark.families.score.model.identity import Identity
from seamark.families.score.platform.configuration import built_in
from seamark.families.score.provisioner.state import Given, given, shared_as
from seamark_cluster.programs import postgres
from seamark_runtime.api.apps import PersistentVolumeClaim, StatefulSet
from seamark_runtime.api.core import Secret, Service
from seamark_runtime.api.meta import Object
from seamark_runtime.transport import HttpRequest, NoAnswerError, Transport

log = structlog.get_logger(__name__)

EVERY = 0.5  # seconds between two looks at the claims
Json = dict[str, Any]


@dataclass(frozen=True)
class Server:
    """How one type is run: an image that is known here, and what its container has beside the credentials."""

    image: str
    port: int
    folder: str
    user: str
    installed: Callable[[], bool]
    variables: Mapping[str, str]  # in which it takes "username", "password" and outputs by their names
    args: tuple[str, ...] = ()


SERVERS: Mapping[str, Server] = {
    "postgres": Server(
        image="postgres:17",
        port=5432,
        folder=postgres.DATA,
        user="app",
        installed=postgres.installed,
        variables={"POSTGRES_USER": "username", "POSTGRES_PASSWORD": "password", "POSTGRES_DB": "name"},
    ),
    "redis": Server(
        image="redis:7",
        port=6379,
        folder="/data",
        user="default",
        installed=lambda: shutil.which("redis-server") is not None,
        variables={"REDIS_PASSWORD": "password"},
        args=("--requirepass", "$(REDIS_PASSWORD)"),
    ),
}
SERVERS = {**SERVERS, "postgres-instance": SERVERS["postgres"]}


class Servers:
    """Runs until cancelled."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._types = {type_: server for type_, server in SERVERS.items() if server.installed()}

    async def run(self) -> None:
        while self._types:
            try:
                await self._look()
            except (NoAnswerError, msgspec.DecodeError) as error:
                log.info("databases not looked at", error=str(error))
            await asyncio.sleep(EVERY)

    async def _look(self) -> None:
        answer = await self._transport.send(HttpRequest("GET", ResourceClaim.RESOURCE.path()))
        items: list[Json] = msgspec.json.decode(answer.body).get("items", []) if answer.status == 200 else []
        for item in items:
            if item["spec"]["type"] in self._types and (item.get("status") or {}).get("phase") == "Claiming":
                await self._provide(msgspec.convert(item, ResourceClaim))

    async def _provide(self, claim: ResourceClaim) -> None:
        provisioner = built_in().provisioner(claim.spec.type, claim.spec.class_)
        if provisioner is None or claim.deleting:
            return
        shared = shared_as(claim, None)
        wanted = given(claim, provisioner, lambda _: None, "", shared)
        for kind, document in objects(claim, self._types[claim.spec.type], wanted, shared):
            body = msgspec.json.encode(document)
            answer = await self._transport.send(
                HttpRequest("POST", kind.RESOURCE.path(claim.metadata.namespace), body=body)
            )
            if answer.status == 409 and kind is Secret:
                return  # it is there: made here before, or by the user
            if answer.status >= 300:
                log.info("database not made", claim=str(claim.key), answer=answer.body[:200].decode())


def objects(
    claim: ResourceClaim, server: Server, wanted: Given, shared: Identity | None
) -> Iterator[tuple[type[Object], Json]]:
    """The Secret first: the process that made it makes the rest."""
    host = wanted.values["host"]
    own = {"apiVersion": claim.RESOURCE.api_version, "kind": "ResourceClaim", "name": claim.metadata.name}
    owners = [{**own, "uid": claim.uid}] if shared is None else []
    labels = {"app.kubernetes.io/part-of": "score", "seamark.dev/server": host}
    metadata = {"labels": labels, "ownerReferences": owners}
    credentials = {"username": server.user, "password": secrets.token_urlsafe(24)}
    yield Secret, {"metadata": {**metadata, "name": wanted.secret}, "stringData": credentials}
    request = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    yield PersistentVolumeClaim, {"metadata": {**metadata, "name": host}, "spec": request}
    selector = {"seamark.dev/server": host}
    spec = {"serviceName": host, "selector": {"matchLabels": selector}, "template": template(server, wanted, labels)}
    yield StatefulSet, {"metadata": {**metadata, "name": host}, "spec": spec}
    ports = [{"name": "tcp", "port": server.port, "targetPort": server.port}]
    yield Service, {"metadata": {**metadata, "name": host}, "spec": {"selector": selector, "ports": ports}}


def template(server: Server, wanted: Given, labels: Mapping[str, str]) -> Json:
    def variable(name: str, source: str) -> Json:
        if source in ("username", "password"):
            return {"name": name, "valueFrom": {"secretKeyRef": {"name": wanted.secret, "key": source}}}
        return {"name": name, "value": wanted.values.get(source, server.user)}

    container = {
        "name": "server",
        "image": server.image,
        "args": list(server.args),
        "env": [variable(name, source) for name, source in server.variables.items()],
        "readinessProbe": {"tcpSocket": {"port": server.port}, "periodSeconds": 2},
        "volumeMounts": [{"name": "data", "mountPath": server.folder}],
    }
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": wanted.values["host"]}}
    return {"metadata": {"labels": dict(labels)}, "spec": {"containers": [container], "volumes": [volume]}}
