"""The desk that agents come to: sessions, tokens and their limits, endpoints going online and offline."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

import seamark
from seamark.core.clock import timestamp
from seamark.edge.agents import AgentConnection
from seamark.edge.binds import answer_of, entry_of, is_private, labelled_url, read_bind
from seamark.edge.credentials import Credentials, may_bind
from seamark.edge.errors import Refusal, over_limit
from seamark.edge.ids import new_id
from seamark.edge.metrics import EdgeMetrics
from seamark.edge.places import Places, TcpPorts
from seamark.edge.registry import Entry, Registry
from seamark.edge.settings import EdgeSettings
from seamark.edge.urls import EndpointUrl, parse_url
from seamark.wire import tunnel
from seamark.wire.muxado import SessionClosed
from seamark.wire.tunnel import StreamType

log = structlog.get_logger(__name__)

STRANGERS = 256  # sessions of one address that may be unauthenticated at once


class Sessions:
    """All agents of this edge.

    - A session counts against its token's limits from the moment it is accepted; a revoked token ends its sessions.
    - An agent that comes back with its client id takes the place of its own older session at once.
    - An endpoint is online when its place accepts connections, and not before the agent is told so. No connection is
      sent to an agent that has not been told: the answer goes out first.
    """

    def __init__(
        self,
        settings: EdgeSettings,
        credentials: Credentials,
        registry: Registry,
        places: Places,
        ports: TcpPorts,
        metrics: EdgeMetrics,
    ) -> None:
        self.head_seconds = settings.head_seconds
        self._settings = settings
        self._credentials = credentials
        self._registry = registry
        self._places = places
        self._ports = ports
        self._metrics = metrics
        self._all: set[AgentConnection] = set()
        self.agents: dict[str, AgentConnection] = {}  # authenticated, by id
        self._background: set[asyncio.Task[None]] = set()
        self.draining = False

    # The desk's side

    def arrived(self, agent: AgentConnection) -> None:
        self._all.add(agent)
        strangers = sum(other.peer == agent.peer and not other.credential for other in self._all)
        if strangers > STRANGERS:
            log.warning("too many agents of one address have not authenticated", peer=agent.peer)
            agent.abort()

    def left(self, agent: AgentConnection) -> None:
        self._all.discard(agent)
        if self.agents.pop(agent.id, None):
            log.info("agent left", session=agent.id, peer=agent.peer)
            self._metrics.agents.set(len(self.agents))
        for entry in self._registry.of_agent(agent):
            self.take_offline(entry)

    async def auth(self, agent: AgentConnection, message: tunnel.Auth) -> tunnel.AuthAnswer:
        if agent.credential:
            raise Refusal(105, "this session is authenticated already")
        if self.draining:
            raise Refusal(503, "this edge is shutting down", status=503)
        token = self._credentials.token(message.extra.token)
        client_id = message.client_id[:100] or new_id("ci")
        for other in list(self.agents.values()):
            if other.client_id == client_id and other.credential == token.id:
                log.info("agent came back, its older session ends", session=other.id)
                self.left(other)
                other.close()
        limit = token.body.get("max_sessions")
        if limit is not None and sum(a.credential == token.id for a in self.agents.values()) >= limit:
            raise over_limit(108, "sessions", limit)
        agent.accept(message, client_id, token.id)
        self.agents[agent.id] = agent
        self._metrics.agents.set(len(self.agents))
        log.info("agent joined", session=agent.id, peer=agent.peer, client=message.extra.client_type)
        extra = tunnel.AuthAnswerExtra(
            version=seamark.__version__,
            region=self._settings.region,
            cookie=client_id,
            account_name="seamark",
            plan_name="self-hosted",
            window=agent.window or msgspec.UNSET,
        )
        return tunnel.AuthAnswer(client_id=client_id, extra=extra)

    async def bind(self, agent: AgentConnection, message: tunnel.Bind) -> tunnel.BindAnswer:
        try:
            answer = await self._bind(agent, message)
        except Refusal as refusal:
            agent.was_refused(message, refusal)
            raise
        agent.was_bound(message)
        return answer

    async def _bind(self, agent: AgentConnection, message: tunnel.Bind) -> tunnel.BindAnswer:
        public = message.proto in ("http", "https", "tls")
        port = self._places.public_port(message.proto) if public and not is_private(message) else 0
        wanted = read_bind(message, self._settings.domain, port)
        returning = self._places.url_of(message.extra.token, agent.credential) if message.extra.token else ""
        if not wanted.url and not returning and message.extra.pooling_enabled:
            returning = self._places.meeting(message.extra.name, message.proto, agent.credential)
        url = wanted.url or (parse_url(returning) if returning else None)
        entry = entry_of(agent, agent.credential, message, wanted, url or EndpointUrl(message.proto, "", port))
        await self._online(entry, url, returning)
        if entry.public and (url is None or url.key == returning):
            try:
                await self._places.lease(entry.url, agent.credential, entry.name if entry.pooling else "")
            except BaseException:
                self.take_offline(entry)
                raise
        entry.bind_token = self._places.token(entry.url, agent.credential)
        entry.opening = False
        return answer_of(entry, message)

    async def bind_labels(
        self, agent: AgentConnection, message: tunnel.StartWithLabels
    ) -> tunnel.StartWithLabelsAnswer:
        """A labelled tunnel is an internal endpoint that policies forward to; several with one set of labels pool."""
        url = labelled_url(message.labels)
        entry = Entry(
            id=new_id("ep"),
            url=url,
            binding="internal",
            created=timestamp(datetime.now(UTC)),
            agent=agent,
            bind_id=new_id("tn"),
            credential=agent.credential,
            pooling=True,
            metadata=message.metadata[:4096],
            forwards_to=message.forwards_to[:1024],
            forwards_proto=message.forwards_proto[:16],
        )
        await self._online(entry, url, "")
        entry.opening = False
        return tunnel.StartWithLabelsAnswer(id=entry.bind_id)

    async def unbind(self, agent: AgentConnection, message: tunnel.Unbind) -> tunnel.Outcome:
        for entry in self._registry.of_agent(agent):
            if entry.bind_id == message.id:
                self.take_offline(entry)
                return tunnel.Outcome()
        raise Refusal(404, f"no endpoint with the id {message.id[:100]!r} in this session", status=404)

    def info(self) -> tunnel.ServerInfo:
        return tunnel.ServerInfo(region=self._settings.region)

    def count(self, kind: str, outcome: str) -> None:
        self._metrics.rpcs.labels(kind, outcome).inc()

    # For the API and the server

    def take_offline(self, entry: Entry) -> None:
        """Stop listening for it; connections that are open go on as long as their agent is there."""
        last = self._registry.remove(entry)
        self._metrics.endpoints.set(len(self._registry.entries))
        if last and entry.public and entry.url.scheme == "tcp":
            self._ports.close(entry.url.port)
        if last and entry.public and entry.agent is not None:
            self._run(self._places.unlease(entry.url))
        log.info("endpoint offline", url=str(entry.url), endpoint=entry.id)

    def stop_tunnel(self, entry: Entry, reason: str) -> None:
        """Take an agent's endpoint offline and tell the agent why."""
        self.take_offline(entry)
        if isinstance(entry.agent, AgentConnection):
            message = tunnel.StopTunnel(id=entry.bind_id, message=reason, error_code="ERR_NGROK_713")
            with contextlib.suppress(SessionClosed):  # an agent that leaves needs no telling
                entry.agent.command(StreamType.STOP_TUNNEL, message)

    def revoke(self, credential: str) -> None:
        for agent in [a for a in self.agents.values() if a.credential == credential]:
            self.left(agent)
            agent.close()

    def close_silent(self) -> None:
        """End the sessions of agents that missed their heartbeats."""
        now = time.monotonic()
        for agent in list(self._all):
            if agent.silent(now):
                log.warning("agent is silent, its session ends", session=agent.id, peer=agent.peer)
                agent.abort()

    def close(self) -> None:
        for agent in list(self._all):
            agent.close()

    async def settle(self) -> None:
        """Wait for writes that were started on behalf of agents that left."""
        while self._background:
            await asyncio.gather(*self._background, return_exceptions=True)

    # Inside

    async def _online(self, entry: Entry, url: EndpointUrl | None, returning: str) -> None:
        self._admit(entry)
        if url is not None:
            self._evict(entry, returning)
            if entry.public:
                self._places.check(url, entry.credential)
            await self._open(entry)
        elif entry.url.scheme == "tcp":
            await self._open_any(entry)
        else:
            entry.url = self._places.pick_host(entry.url.scheme, entry.url.port)
            may_bind(self._credentials.by_id(entry.credential), entry.url)
            self._meet(entry)
            await self._open(entry)
        log.info("endpoint online", url=str(entry.url), endpoint=entry.id, binding=entry.binding)

    def _admit(self, entry: Entry) -> None:
        token = self._credentials.by_id(entry.credential)
        limit = token.body.get("max_endpoints")
        if limit is not None and self._registry.of_credential(entry.credential) >= limit:
            raise over_limit(324, "endpoints", limit)
        if entry.url.host:
            may_bind(token, entry.url)

    def _evict(self, entry: Entry, returning: str) -> None:
        """An agent's own older endpoint at this place makes room, if the agent shows the token that it was given."""
        group = self._registry.find(entry.url.key)
        if group is None or entry.url.key != returning or entry.pooling:
            return
        for other in list(group.entries):
            gone = other.agent is None or other.agent.id not in self.agents
            if other.credential == entry.credential and gone:
                self.take_offline(other)

    async def _open(self, entry: Entry) -> None:
        entry.opening = True
        self._registry.add(entry)
        try:
            if entry.public and entry.url.scheme == "tcp":
                await self._ports.open(entry.url.port)
        except OSError as error:
            self.take_offline(entry)
            raise Refusal(9445, f"{entry.url} can't be opened: {error.strerror}", status=503) from error
        except asyncio.CancelledError:
            self.take_offline(entry)
            raise
        self._metrics.endpoints.set(len(self._registry.entries))

    async def _open_any(self, entry: Entry) -> None:
        token = self._credentials.by_id(entry.credential)
        for url in self._places.pick_ports():
            entry.url = url
            may_bind(token, url)
            self._meet(entry)
            try:
                await self._open(entry)
            except Refusal:
                continue
            return
        raise Refusal(9445, "no address of this edge's range is free", status=503)

    def _meet(self, entry: Entry) -> None:
        """Before anything is awaited: the next replica of this name comes here, too."""
        if entry.pooling and entry.name:
            self._places.meet(entry.name, entry.url, entry.credential)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
