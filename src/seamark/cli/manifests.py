"""Manifests applied to whatever cluster a transport leads to, without kubectl."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from seamark.core.client import APPLY_PATCH, explain
from seamark.core.errors import UserError
from seamark.core.transport import Request, Transport

MANAGER = "seamark-dev"
PATIENCE = 10.0  # seconds that a kind may take to be served after its definition was applied


def read(file: Path) -> list[dict[str, Any]]:
    try:
        documents = list(yaml.safe_load_all(file.read_text()))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is no YAML ({' '.join(str(error).split())})") from None
    found = [one for one in documents if one is not None]
    for one in found:
        if not isinstance(one, dict) or not one.get("apiVersion") or not one.get("kind"):
            raise UserError(f"{file} has a document without apiVersion and kind")
    return found


class Applier:
    """Applies manifests one after the other; the first that is refused is told, in the server's words."""

    def __init__(self, transport: Transport, manager: str = MANAGER) -> None:
        self._transport = transport
        self._manager = manager
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    async def apply(self, documents: Iterable[dict[str, Any]]) -> None:
        for document in documents:
            await self._one(document)

    async def _one(self, document: dict[str, Any]) -> None:
        plural, namespaced = await self.known(document["apiVersion"], document["kind"])
        meta = document.get("metadata") or {}
        scope = f"/namespaces/{meta.get('namespace') or 'default'}" if namespaced else ""
        path = f"{_root(document['apiVersion'])}{scope}/{plural}/{meta.get('name', '')}"
        query = {"fieldManager": self._manager, "force": "true"}
        body = msgspec.json.encode(document)
        answer = await self._transport.send(Request("PATCH", path, query, body, APPLY_PATCH))
        if answer.status >= 300:
            raise UserError(f"{document['kind']} {meta.get('name', '')} is refused: {explain(answer).message}")

    async def known(self, api_version: str, kind: str) -> tuple[str, bool]:
        """The kind's name in paths, and whether it is in namespaces. A kind that was just defined is waited for."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while (found := self._resources.get((api_version, kind))) is None:
            answer = await self._transport.send(Request("GET", _root(api_version)))
            if answer.status == 200:
                for one in msgspec.json.decode(answer.body)["resources"]:
                    if "/" not in one["name"]:
                        self._resources[(api_version, one["kind"])] = (one["name"], one["namespaced"])
            if (api_version, kind) not in self._resources:
                if asyncio.get_running_loop().time() > deadline:
                    raise UserError(f"the cluster has no kind {kind} in {api_version}")
                await asyncio.sleep(0.05)
        return found


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
