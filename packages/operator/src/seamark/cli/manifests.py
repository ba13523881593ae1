"""Manifests applied to whatever cluster a transport leads to, without kubectl."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from seamark_runtime.api.meta import Resource
from seamark_runtime.client import APPLY_PATCH, explain
from seamark_runtime.errors import UserError
from seamark_runtime.transport import Answer, HttpRequest, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_all_yaml, decode_json
from seamark_runtime.untrusted.names import InvalidName, NameRule, api_root

MANAGER = "seamark-dev"
SERVED_TIMEOUT = 10.0  # seconds that a kind may take to be served after its definition was applied


def read(file: Path) -> list[dict[str, Any]]:
    try:
        documents = decode_all_yaml(file.read_text())
    except (Malformed, UnicodeDecodeError) as error:
        raise UserError(f"{file}: {error}") from None
    found = [document for document in documents if document is not None]
    for document in found:
        if not isinstance(document, dict) or not document.get("apiVersion") or not document.get("kind"):
            raise UserError(f"{file} has a document without apiVersion and kind")
    return found


class _Entry(msgspec.Struct):
    """A kind, or a subresource of one, as discovery lists it."""

    name: str
    kind: str
    namespaced: bool


class _Entries(msgspec.Struct):
    resources: list[_Entry]


def _listed(answer: Answer, api_version: str) -> list[_Entry]:
    try:
        return decode_json(answer.body, _Entries).resources
    except Malformed as error:
        raise UserError(f"the API server's list of the kinds in {api_version} can't be read: {error}") from None


class Applier:
    """Applies manifests one after the other; the first refusal ends it with the server's error."""

    def __init__(self, transport: Transport, manager: str = MANAGER) -> None:
        self._transport = transport
        self._manager = manager
        self._resources: dict[tuple[str, str], Resource] = {}

    async def apply(self, documents: Iterable[dict[str, Any]]) -> None:
        for document in documents:
            await self._apply(document)

    async def _apply(self, document: dict[str, Any]) -> None:
        resource = await self.known(document["apiVersion"], document["kind"])
        meta = document.get("metadata") or {}
        try:
            path = resource.path(meta.get("namespace") or "default", meta.get("name", ""))
        except InvalidName as error:
            raise UserError(f"{document['kind']}: {error}") from None
        query = {"fieldManager": self._manager, "force": "true"}
        body = msgspec.json.encode(document)
        answer = await self._transport.send(HttpRequest("PATCH", path, query, body, APPLY_PATCH))
        if answer.status >= 300:
            raise UserError(f"{document['kind']} {meta.get('name', '')} is refused: {explain(answer).message}")

    async def known(self, api_version: str, kind: str) -> Resource:
        """Where the kind is served. A kind that was just defined is waited for."""
        group, _, version = api_version.rpartition("/")
        deadline = asyncio.get_running_loop().time() + SERVED_TIMEOUT
        while (found := self._resources.get((api_version, kind))) is None:
            answer = await self._transport.send(HttpRequest("GET", api_root(group, version)))
            if answer.status == 200:
                for entry in _listed(answer, api_version):
                    if "/" not in entry.name:
                        served = Resource(group, version, entry.kind, entry.name, entry.namespaced, NameRule.SEGMENT)
                        self._resources[(api_version, served.kind)] = served
            if (api_version, kind) not in self._resources:
                if asyncio.get_running_loop().time() > deadline:
                    raise UserError(f"the cluster has no kind {kind} in {api_version}")
                await asyncio.sleep(0.05)
        return found
