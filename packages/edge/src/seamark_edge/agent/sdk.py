"""An agent on the official Python SDK, for the cloud: its makers support no other client there.

The package `ngrok` is an optional extra. It can't share an environment with `ngrok-api`, which is why the REST side
is our own. The SDK reconnects by itself and binds again at the same URL.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import structlog

from seamark_edge import urls
from seamark_edge.agent.agent import PAUSES, Held
from seamark_edge.agent.model import AgentSettings, Tunnel
from seamark_edge.agent.upstream import Upstream
from seamark_runtime.errors import Refused, Retry, UserError

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 20.0


class SdkAgent:
    """Holds tunnels at an edge through the official SDK. The same promises as `Agent`, as far as the SDK can keep them.

    - The SDK has no pooling and no choice of binding: a tunnel that asks for either is refused, never opened without.
    """

    def __init__(self, settings: AgentSettings, changed: Callable[[str], None] = lambda _: None) -> None:
        try:
            self._sdk: Any = importlib.import_module("ngrok")
            self._sdk.SessionBuilder  # noqa: B018  # `ngrok-api` brings a package of the same name without it
        except (ImportError, AttributeError) as error:
            raise UserError("the official SDK is not installed", hint="pip install 'seamark[ngrok]'") from error
        self._settings = settings
        self._changed = changed
        self._session: Any = None
        self._listeners: dict[str, Any] = {}
        self._stopping = asyncio.Event()
        self.connected = asyncio.Event()
        self.held: dict[str, Held] = {}

    async def run(self) -> None:
        """Connects and holds what is wanted until stopped. The SDK reconnects by itself."""
        failures = 0
        while not self._stopping.is_set() and not self.connected.is_set():
            try:
                await self.connect()
            except Retry as error:
                log.warning("not connected to the edge", error=error.message)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PAUSES.pause(Random(), failures)):
                        await self._stopping.wait()
                failures += 1
        for name, held in list(self.held.items()):
            await self._listen(name, held)
        await self._stopping.wait()
        await self.close()

    def stop(self) -> None:
        self._stopping.set()

    async def connect(self) -> None:
        builder = self._sdk.SessionBuilder().authtoken(self._settings.token)
        builder.client_info("seamark-agent", "1")
        if self._settings.server:
            builder.server_addr(self._settings.server)
        if self._settings.ca:
            builder.ca_cert(bytearray(await asyncio.to_thread(Path(self._settings.ca).read_bytes)))
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                self._session = await builder.connect()
        except TimeoutError as error:
            raise Retry("the edge did not answer in time") from error
        except ValueError as error:  # what the SDK raises for every refusal
            raise Refused(str(error)) from error
        self.connected.set()

    async def hold(self, name: str, wanted: Tunnel) -> Held:
        before = self.held.get(name)
        if before is not None and before.tunnel == wanted and not before.error:
            return before
        await self.release(name)
        held = self.held[name] = Held(wanted, Upstream.of(wanted))
        if self.connected.is_set():
            await self._listen(name, held)
        return held

    async def _listen(self, name: str, held: Held) -> None:
        wanted = held.tunnel
        try:
            listener = await self._builder(wanted).listen()
        except (Refused, ValueError) as error:
            held.error = str(error)
            log.warning("the edge refused a tunnel", tunnel=name, error=held.error.splitlines()[0])
            self._changed(name)
            return
        listener.forward(_forwarded(wanted))
        held.url, held.bind_id = listener.url(), listener.id()
        self._listeners[name] = listener
        self._changed(name)

    async def release(self, name: str) -> None:
        self.held.pop(name, None)
        listener = self._listeners.pop(name, None)
        if listener is not None:
            await listener.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _builder(self, wanted: Tunnel) -> Any:
        if wanted.pooling or any(binding != "public" for binding in wanted.bindings):
            raise Refused("the official SDK for Python can neither pool endpoints nor choose their binding")
        if wanted.termination or wanted.client_certificates:
            raise Refused("the official SDK for Python can neither end TLS nor show certificates to services")
        scheme, _, place = wanted.url.partition("://")
        if scheme == "tcp":
            builder = self._session.tcp_endpoint()
            if place:
                builder.remote_addr(place)
        else:
            builder = self._session.tls_endpoint() if scheme == "tls" else self._session.http_endpoint()
            if scheme == "http":
                builder.scheme("http")
            if place:
                builder.domain(place)
        if wanted.metadata:
            builder.metadata(wanted.metadata)
        if wanted.policy:
            builder.traffic_policy(wanted.policy)
        if wanted.proxy_version:
            builder.proxy_proto(str(wanted.proxy_version))
        return builder


def _forwarded(wanted: Tunnel) -> str:
    """The upstream as the SDK looks it up: a Service by its whole name, which no search list changes."""
    found, meant = urls.upstream(wanted.upstream), wanted.destination
    if meant is not None and meant.namespace is not None:
        found = replace(found, host=meant.host)
    return str(found)
