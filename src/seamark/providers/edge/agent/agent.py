"""An agent: keeps the tunnels it is told to hold online at an edge, across lost connections."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import structlog

import seamark
from seamark.core.backoff import Backoff
from seamark.core.errors import Refused, Retry, UserError
from seamark.providers.edge.agent.link import Link
from seamark.providers.edge.agent.upstream import Upstream
from seamark.wire import tunnel
from seamark.wire.tunnel import StreamType

log = structlog.get_logger(__name__)

WINDOW = 1024 * 1024
PAUSES = Backoff(0.5, 30.0)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Which edge, and who we are there."""

    server: str
    token: str = field(repr=False)
    ca: str = ""
    metadata: str = ""
    heartbeat: float = 10.0
    tolerance: float = 15.0

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.server.rpartition(":")
        if not host or not port.isdecimal():
            raise UserError(f"{self.server!r} is no address of an edge", hint="write HOST:PORT")
        return host.strip("[]"), int(port)

    def context(self) -> ssl.SSLContext:
        if self.ca and not Path(self.ca).exists():
            raise UserError(f"the CA file {self.ca} is not there")
        return ssl.create_default_context(cafile=self.ca or None)


@dataclass(frozen=True, slots=True)
class Tunnel:
    """An endpoint to hold. An empty host or port in the URL leaves the choice to the edge."""

    url: str
    upstream: str
    pooling: bool = False
    metadata: str = ""
    description: str = ""
    bindings: tuple[str, ...] = ()
    policy: str = ""
    proxy_version: int = 0


@dataclass(slots=True)
class Held:
    """What is known of a tunnel: its URL once the edge gave it, or why not."""

    tunnel: Tunnel
    upstream: Upstream
    url: str = ""
    bind_id: str = ""
    token: str = field(default="", repr=False)
    error: str = ""


class Agent:
    """Holds tunnels at one edge.

    - `hold` and `release` say what is wanted; the agent brings it about now if it is connected, and again after
      every reconnect, at the same addresses.
    - A tunnel that the edge refuses is told in `held[name].error` and tried again with the next connection; it never
      keeps another tunnel from going online.
    - `run` ends when told to stop; a lost edge is tried again, with growing waits up to half a minute.
    """

    def __init__(self, settings: AgentSettings, changed: Callable[[str], None] = lambda _: None) -> None:
        self._settings = settings
        self._changed = changed
        self._context = settings.context()
        self.held: dict[str, Held] = {}
        self._by_bind: dict[str, Held] = {}
        self._link: Link | None = None
        self._client_id = ""
        self._random = Random()
        self._stopping = asyncio.Event()
        self.connected = asyncio.Event()
        self.error = ""

    async def hold(self, name: str, wanted: Tunnel) -> Held:
        """Want this tunnel under this name, in place of what was wanted before."""
        before = self.held.get(name)
        if before is not None and before.tunnel == wanted:
            return before
        if before is not None:
            await self.release(name)
        held = self.held[name] = Held(wanted, Upstream.parse(wanted.upstream))
        if self._link is not None and self.connected.is_set():
            await self._bind(self._link, name, held)
        return held

    async def release(self, name: str) -> None:
        held = self.held.pop(name, None)
        if held is None or not held.bind_id:
            return
        self._by_bind.pop(held.bind_id, None)
        if self._link is not None and self.connected.is_set():
            with contextlib.suppress(Refused, Retry):  # what the edge does not know is released
                await self._link.ask(StreamType.UNBIND, tunnel.Unbind(id=held.bind_id), tunnel.Outcome)

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                await self._session()
                failures = 0
            except (Retry, Refused) as error:
                self.error = error.message
                log.warning("not connected to the edge", error=error.message.splitlines()[0])
            finally:
                self.connected.clear()
                self._link = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSES.pause(self._random, failures)):
                    await self._stopping.wait()
            failures += 1

    async def _session(self) -> None:
        """One connection, from the handshake to its end."""
        link = await Link.dial(self._settings.address, self._context, self._find, self._command)
        beating: asyncio.Task[None] | None = None
        try:
            await self._authenticate(link)
            beating = asyncio.create_task(link.heartbeat(self._settings.heartbeat, self._settings.tolerance))
            self._link = link
            self._by_bind.clear()
            for name, held in list(self.held.items()):
                await self._bind(link, name, held)
            self.error = ""
            self.connected.set()
            log.info("connected to the edge", server=self._settings.server, tunnels=len(self.held))
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait((stopping, link.closed), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
        finally:
            if beating is not None:
                beating.cancel()
            link.close()

    async def _authenticate(self, link: Link) -> None:
        extra = tunnel.AuthExtra(
            go_token=self._settings.token,
            version=seamark.__version__,
            client_type="seamark-agent",
            user_agent=f"seamark-agent/{seamark.__version__}",
            metadata=self._settings.metadata,
            cookie=self._client_id,
            heartbeat_interval=int(self._settings.heartbeat * 1e9),
            heartbeat_tolerance=int(self._settings.tolerance * 1e9),
            stop_unsupported_error="",
            restart_unsupported_error="",
            update_unsupported_error="this agent does not update itself",
            window=WINDOW,
        )
        request = tunnel.Auth(version=(tunnel.VERSION,), client_id=self._client_id, extra=extra)
        answer = await link.ask(StreamType.AUTH, request, tunnel.AuthAnswer)
        self._client_id = answer.client_id
        if answer.extra.window:
            link.use_window(answer.extra.window)

    async def _bind(self, link: Link, name: str, held: Held) -> None:
        try:
            answer = await link.ask(StreamType.BIND, _request(held), tunnel.BindAnswer)
        except Refused as refusal:
            held.error, held.url = refusal.message, ""
            log.warning("the edge refused a tunnel", tunnel=name, error=refusal.message.splitlines()[0])
        else:
            held.url, held.bind_id, held.token, held.error = answer.url, answer.id, answer.extra.token, ""
            self._by_bind[answer.id] = held
            log.info("tunnel online", tunnel=name, url=answer.url)
        self._changed(name)

    def _find(self, bind_id: str) -> Upstream | None:
        held = self._by_bind.get(bind_id)
        return held.upstream if held is not None else None

    def _command(self, kind: StreamType, body: bytes) -> None:
        log.info("the edge commands", command=kind.name.lower())
        if kind == StreamType.STOP:
            self.stop()
        elif kind == StreamType.STOP_TUNNEL:
            self._stopped(tunnel.decode(body, tunnel.StopTunnel))
        elif self._link is not None:
            self._link.close()

    def _stopped(self, message: tunnel.StopTunnel) -> None:
        for name, held in self.held.items():
            if held.bind_id == message.id:
                held.error, held.url = message.message, ""
                self._by_bind.pop(message.id, None)
                self._changed(name)


def _request(held: Held) -> tunnel.Bind:
    wanted = held.tunnel
    opts: dict[str, Any] = {"URL": held.url or wanted.url}
    if wanted.policy:
        opts["TrafficPolicy"] = wanted.policy
    if wanted.proxy_version:
        opts["ProxyProto"] = wanted.proxy_version
    return tunnel.Bind(
        id=held.bind_id,
        proto=wanted.url.partition("://")[0],
        forwards_to=wanted.upstream,
        opts=opts,
        extra=tunnel.BindExtra(
            token=held.token,
            metadata=wanted.metadata,
            description=wanted.description,
            bindings=wanted.bindings or None,
            pooling_enabled=wanted.pooling,
        ),
    )
