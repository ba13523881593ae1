"""An agent: keeps its tunnels online at an edge, across lost connections."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
import structlog

import seamark_edge
from seamark_edge.agent.link import Callbacks, Link
from seamark_edge.agent.model import AgentSettings, Problem, Tunnel
from seamark_edge.agent.reports import Reports
from seamark_edge.agent.upstream import Upstream
from seamark_edge.model import share_of
from seamark_edge.wire import tunnel
from seamark_edge.wire.tunnel import StreamType
from seamark_runtime.backoff import Backoff
from seamark_runtime.errors import Refused, Retry
from seamark_runtime.resolver import Resolver

log = structlog.get_logger(__name__)

WINDOW = 1024 * 1024
PAUSES = Backoff(0.5, 30.0)
RETRIES = Backoff(2.0, 60.0)  # of a tunnel that the edge refused
LOOK_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class Held:
    """What is known of a tunnel: its URL once the edge gave it, or why not."""

    tunnel: Tunnel
    upstream: Upstream
    url: str = ""
    bind_id: str = ""
    token: str = field(default="", repr=False)
    error: str = ""
    link: Link | None = None  # the connection that it was asked for on
    before: Held | None = None  # goes on serving until this one is online
    failures: int = 0
    retry_at: float = float("inf")  # when to ask again after a refusal


class Agent:
    """Holds tunnels at one edge.

    - `hold` and `release` set what is wanted; the agent opens it now if it is connected, and again after every
      reconnect, at the same addresses.
    - A tunnel that changes and is pooled serves as it was until the new one is online: no connection is turned away.
    - The refusal of a tunnel is in `held[name].error`; it is retried with a backoff of up to a minute, and never
      delays another tunnel. One that the edge stops is not opened again before the next connection.
    - The result of each dial of an upstream, and why a tunnel can't be held, are reported to an edge that knows such
      reports.
    - `run` ends on `stop`; a lost edge is retried with a backoff of up to half a minute.
    """

    def __init__(
        self, settings: AgentSettings, changed: Callable[[str], None] = lambda _: None, roots: str = ""
    ) -> None:
        self._settings = settings
        self._changed = changed
        self._roots = roots
        self._context = settings.context()
        self._resolver = Resolver(settings.resolver) if settings.resolver else None
        self.held: dict[str, Held] = {}
        self._by_bind: dict[str, Held] = {}
        self._link: Link | None = None
        self._reports: Reports | None = None  # of this connection, where the edge knows them
        self._problems: dict[str, Problem] = {}  # by the name of the tunnel; sent again to each new connection
        self._client_id = ""
        self._random = Random()
        self._stopping = asyncio.Event()
        self.connected = asyncio.Event()
        self.error = ""

    async def hold(self, name: str, wanted: Tunnel) -> Held:
        """Want this tunnel under this name, in place of what was wanted before. `UserError` if it can't be."""
        before = self.held.get(name)
        if before is not None and before.tunnel == wanted:
            return before
        held = Held(wanted, Upstream.of(wanted, self._roots, self._resolver))
        if before is not None and wanted.pooling and before.tunnel.pooling:
            held.before = before if before.bind_id else before.before
        elif before is not None:
            await self.release(name)
        self.held[name] = held
        if self._link is not None:
            with contextlib.suppress(Retry):  # the connection is lost: the next one asks again
                await self._bind(self._link, name, held)
        return held

    async def release(self, name: str) -> None:
        held = self.held.pop(name, None)
        while held is not None:
            await self._unbind(held)
            held = held.before

    def report(self, name: str, problem: Problem | None) -> None:
        before = self._problems.pop(name, None)
        if problem is not None:
            self._problems[name] = problem
        if problem != before and (reported := problem or before) is not None and self._reports is not None:
            self._reports.unusable(_unusable(reported, solved=problem is None))

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
            except Exception as error:
                self.error = f"{type(error).__name__}: the agent's log says more"
                log.exception("the connection to the edge failed: this is a bug in Seamark")
            finally:
                self.connected.clear()
                self._link = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSES.pause(self._random, failures)):
                    await self._stopping.wait()
            failures += 1

    async def _session(self) -> None:
        """One connection, from the handshake to its end."""
        callbacks = Callbacks(self._find, self._command, self._dialled, self._check)
        link = await Link.dial(self._settings.address, self._context, callbacks)
        beside: list[asyncio.Task[Any]] = []
        try:
            await self._authenticate(link)
            beside.append(asyncio.create_task(link.heartbeat(self._settings.heartbeat, self._settings.tolerance)))
            self._by_bind.clear()
            self._link = link
            while waiting := [(name, held) for name, held in self.held.items() if held.link is not link]:
                for name, held in waiting:
                    if self.held.get(name) is held and held.link is not link:
                        held.before = None  # gone with the last connection
                        await self._bind(link, name, held)
            self.error = ""
            self.connected.set()
            log.info("connected to the edge", server=self._settings.server, tunnels=len(self.held))
            stopping = asyncio.create_task(self._stopping.wait())
            beside += [stopping, asyncio.create_task(self._retry_refused(link))]
            await asyncio.wait((stopping, link.closed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in beside:
                task.cancel()
            reports, self._reports = self._reports, None
            if reports is not None:
                await reports.stop()
            link.close()
            await link.closed

    async def _retry_refused(self, link: Link) -> None:
        """Ask again for what the edge refused: a name may have been reserved, or a place become free, meanwhile."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = time.monotonic()
            due: dict[str, list[tuple[str, Held]]] = {}
            for name, held in self.held.items():
                if held.retry_at <= now:
                    due.setdefault(share_of(held.tunnel.name), []).append((name, held))
            async with asyncio.TaskGroup() as namespaces:
                for tunnels in due.values():
                    namespaces.create_task(self._bind_all(link, tunnels))

    async def _bind_all(self, link: Link, tunnels: list[tuple[str, Held]]) -> None:
        """Ask for these, one after the other; the first ones of each namespace are asked for at the same time."""
        for name, held in tunnels:
            if held.retry_at < float("inf") and self.held.get(name) is held:
                with contextlib.suppress(Retry):
                    await self._bind(link, name, held)

    async def _authenticate(self, link: Link) -> None:
        extra = tunnel.AuthExtra(
            go_token=self._settings.token,
            version=seamark_edge.__version__,
            client_type="seamark-agent",
            user_agent=f"seamark-agent/{seamark_edge.__version__}",
            metadata=self._settings.metadata,
            cookie=self._client_id,
            heartbeat_interval=int(self._settings.heartbeat * 1e9),
            heartbeat_tolerance=int(self._settings.tolerance * 1e9),
            stop_unsupported_error="",
            restart_unsupported_error="",
            update_unsupported_error="this agent does not update itself",
            window=WINDOW,
            reports=True,
        )
        request = tunnel.Auth(version=(tunnel.VERSION,), client_id=self._client_id, extra=extra)
        answer = await link.call(StreamType.AUTH, request, tunnel.AuthAnswer)
        self._client_id = answer.client_id
        if answer.extra.window:
            link.use_window(answer.extra.window)
        self._reports = reports = Reports(link) if answer.extra.reports is True else None
        if reports is not None:
            for problem in self._problems.values():
                reports.unusable(_unusable(problem))

    async def _bind(self, link: Link, name: str, held: Held) -> None:
        """A tunnel that can't be requested does not prevent the others from being requested."""
        try:
            await self._ask(link, name, held)
        except (Retry, asyncio.CancelledError):
            raise
        except Exception as error:
            log.exception("a tunnel failed: this is a bug in Seamark", tunnel=name)
            self._refused(name, held, f"{type(error).__name__}: the agent's log says more")

    async def _ask(self, link: Link, name: str, held: Held) -> None:
        held.link, held.retry_at = link, float("inf")

        def answered(answer: tunnel.BindAnswer) -> None:
            self._by_bind[answer.id] = held  # the first connection may stand right behind the answer

        try:
            answer = await link.call(StreamType.BIND, _request(held), tunnel.BindAnswer, answered)
        except Refused as refusal:
            self._refused(name, held, refusal.message)
            return
        held.url, held.bind_id, held.token, held.error = answer.url, answer.id, answer.extra.token, ""
        held.failures = 0
        before, held.before = held.before, None
        if self.held.get(name) is not held:
            await self._unbind(held)  # it was released, or replaced, while the edge was asked
            return
        log.info("tunnel online", tunnel=name, url=answer.url)
        self._changed(name)
        if before is not None:
            await self._unbind(before)

    def _refused(self, name: str, held: Held, message: str) -> None:
        held.retry_at = time.monotonic() + RETRIES.pause(self._random, held.failures)
        held.failures += 1
        known, held.error, held.url = held.error, message, ""
        if known != held.error:
            log.warning("the edge refused a tunnel", tunnel=name, error=message.splitlines()[0] if message else "")
            self._changed(name)

    async def _unbind(self, held: Held) -> None:
        """Release it; until the edge has answered, connections that it sent before are still served."""
        bind_id, held.bind_id, held.retry_at = held.bind_id, "", float("inf")
        if bind_id in self._by_bind and self._link is not None:
            with contextlib.suppress(Refused, Retry):  # what the edge does not know is released
                await self._link.call(StreamType.UNBIND, tunnel.Unbind(id=bind_id), tunnel.Outcome)
        self._by_bind.pop(bind_id, None)
        if self._reports is not None:
            self._reports.forget(bind_id)

    def _find(self, bind_id: str) -> Upstream | None:
        held = self._by_bind.get(bind_id)
        return held.upstream if held is not None else None

    def _dialled(self, bind_id: str, trouble: str) -> None:
        upstream = self._find(bind_id)
        if self._reports is not None and upstream is not None:
            self._reports.dialled(bind_id, upstream.refused_by_clients(datetime.now(UTC)) or trouble)

    async def _check(self, bind_id: str) -> tunnel.UpstreamReport:
        upstream = self._find(bind_id)
        if upstream is None:
            return tunnel.UpstreamReport(id=bind_id, error="this agent has no such tunnel")
        trouble = upstream.refused_by_clients(datetime.now(UTC)) or await upstream.check()
        return tunnel.UpstreamReport(id=bind_id, reachable=not trouble, detail=trouble)

    def _command(self, kind: StreamType, body: bytes) -> None:
        log.info("the edge commands", command=kind.name.lower())
        if kind == StreamType.STOP:
            self.stop()
        elif kind == StreamType.STOP_TUNNEL:
            self._stopped(tunnel.decode(body, tunnel.StopTunnel))
        elif self._link is not None:
            self._link.close()

    def _stopped(self, message: tunnel.StopTunnel) -> None:
        stopped = self._by_bind.pop(message.id, None)
        for name, held in self.held.items():
            if held is stopped:
                held.error, held.url = message.message, ""
                self._changed(name)


def _unusable(problem: Problem, *, solved: bool = False) -> tunnel.UnusableEndpoint:
    return tunnel.UnusableEndpoint(
        name=problem.name,
        url=problem.url,
        generation=problem.generation,
        message="" if solved else problem.message,
    )


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
        forwards_proto=wanted.protocol,
        opts=opts,
        extra=tunnel.BindExtra(
            name=wanted.name,
            generation=wanted.generation or msgspec.UNSET,
            token=held.token,
            metadata=wanted.metadata,
            description=wanted.description,
            bindings=wanted.bindings or None,
            pooling_enabled=wanted.pooling,
        ),
    )
