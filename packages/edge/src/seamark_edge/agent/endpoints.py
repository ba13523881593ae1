"""Where an agent's endpoints come from: given once, or watched in a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from seamark_edge.agent.model import Holder, Tunnel
from seamark_edge.agent.wanted import Objects, Unusable, tunnel_of
from seamark_edge.api.ngrok import AgentEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Object
from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.decoding import decode_all_yaml

T = TypeVar("T", bound=Object)


class Endpoints(Protocol):
    """A source of endpoints. `run` reports what is wanted, and what no longer is, until it is cancelled."""

    async def run(self, holder: Holder) -> None: ...

    def missing(self) -> list[str]:
        """What stands between this source and knowing all that is wanted, as lines of text."""


class FixedEndpoints:
    """Endpoints that are given once: on the command line, in a file."""

    def __init__(self, tunnels: Mapping[str, Tunnel]) -> None:
        self._tunnels = tunnels
        self._requested = False

    async def run(self, holder: Holder) -> None:
        for name, tunnel in self._tunnels.items():
            await holder.hold(name, tunnel)
        self._requested = True
        await asyncio.Event().wait()

    def missing(self) -> list[str]:
        return [] if self._requested else ["the endpoints are being requested"]


def read_manifests(path: Path) -> dict[str, Tunnel]:
    """The AgentEndpoints of a file of manifests, with the policies and Secrets in it; other kinds are passed over."""
    try:
        documents = [document for document in decode_all_yaml(path.read_text()) if isinstance(document, dict)]
    except (OSError, ValueError) as error:
        raise UserError(f"{path} can't be read", hint=" ".join(str(error).split())) from None
    endpoints = _of(documents, AgentEndpoint, path)
    policies = {policy.key: policy for policy in _of(documents, NgrokTrafficPolicy, path)}
    secrets = {secret.key: secret for secret in _of(documents, Secret, path)}
    found: dict[str, Tunnel] = {}
    for endpoint in endpoints:
        try:
            found[str(endpoint.key)] = tunnel_of(endpoint, Objects(policies.get, secrets.get))
        except Unusable as error:
            raise UserError(f"{path}: AgentEndpoint {endpoint.key}", hint=f"{error}, in this file") from None
    return found


def _of(documents: list[dict[str, Any]], kind: type[T], path: Path) -> list[T]:
    resource = kind.RESOURCE
    ours = [
        document
        for document in documents
        if (document.get("apiVersion"), document.get("kind")) == (resource.api_version, resource.kind)
    ]
    try:
        return [msgspec.convert(document, kind) for document in ours]
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} has a {resource.kind} that can't be read", hint=str(error)) from None
