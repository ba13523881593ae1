"""The desk that agents come to: sessions, tokens and their limits, endpoints going online and offline."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

import msgspec
import structlog

import seamark_edge
from seamark_edge.edge.agents import AgentConnection
from seamark_edge.edge.binds import answer_of, checked_metadata, entry_of, labelled_url, policy_of, read_bind
from seamark_edge.edge.checking import Checker
from seamark_edge.edge.credentials import Credentials, limit_of, may_bind
from seamark_edge.edge.errors import Refusal, no_address_free, over_limit, store_away
from seamark_edge.edge.failures import Failures
from seamark_edge.edge.fairshare import FairShare
from seamark_edge.edge.ids import new_id
from seamark_edge.edge.places import Places, TcpPorts
from seamark_edge.edge.registry import Entry, Registry
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.shares import MAX_OWNER, Caller, RequestShares
from seamark_edge.edge.upstreams import Upstreams
from seamark_edge.edge.urls import EndpointUrl, parse_url
from seamark_edge.model import share_of
from seamark_edge.store.database import DatabaseAway
from seamark_edge.wire import tunnel
from seamark_edge.wire.muxado import SessionClosed
from seamark_edge.wire.tunnel import StreamType
from seamark_runtime.clock import timestamp
from seamark_runtime.pacing import InputAccount

log = structlog.get_logger(__name__)

UNPROVEN_SHARE, TOKEN_SHARE = 0.1, 0.5  # of the loop's time, for input that costs more than its size
FEW_PORTS, MANY_PORTS = 4, 100  # that are tried, in this order, where the edge chooses the address
SLICE = 25  # endpoints that are taken offline before others get their turn


class Sessions:
    """All agents of this edge.

    - A session counts against its token's limits from the moment it is accepted; a revoked token ends its sessions.
    - The agents of one token have a budget of requests, in shares of the namespaces that they hold endpoints for, and a
      share of the event loop's time for them.
    - An agent that comes back with its client id takes the place of its own older session at once.
    - An endpoint is online when its place accepts connections, and not before the agent has the response. No
      connection is sent to the agent before that.
    """

    def __init__(  # noqa: PLR0913  # its dependencies
        self,
        settings: EdgeSettings,
        credentials: Credentials,
        registry: Registry,
        places: Places,
        ports: TcpPorts,
        failures: Failures,
        *,
        checker: Checker,
        share: FairShare,
    ) -> None:
        self.head_seconds = settings.head_seconds
        self.unproven_input = InputAccount(UNPROVEN_SHARE)
        self._inputs: WeakValueDictionary[str, InputAccount] = WeakValueDictionary()  # by token, while it has agents
        self.failures = failures
        self.share = share
        self._budget = RequestShares(settings.agent_requests_per_minute)
        self._settings = settings
        self._credentials = credentials
        self._registry = registry
        self._places = places
        self._ports = ports
        self._checker = checker
        self._metrics = failures.metrics
        self.upstreams = Upstreams(registry)
        self._all: set[AgentConnection] = set()
        self.agents: dict[str, AgentConnection] = {}  # authenticated, by id
        self._background: set[asyncio.Task[None]] = set()
        self.draining = False

    # The desk's side

    def input_of(self, credential: str) -> InputAccount:
        found = self._inputs.get(credential)
        if found is None:
            found = self._inputs[credential] = InputAccount(TOKEN_SHARE)
        return found

    def arrived(self, agent: AgentConnection) -> None:
        self._all.add(agent)

    def left(self, agent: AgentConnection) -> asyncio.Task[None] | None:
        """Its endpoints go offline; a task if that takes longer. No connection is sent to it meanwhile."""
        self._all.discard(agent)
        if self.agents.pop(agent.id, None):
            log.info("agent left", session=agent.id, peer=agent.peer)
            self._metrics.agents.set(len(self.agents))
        entries = self._registry.of_agent(agent)
        for entry in entries[:SLICE]:
            self.take_offline(entry)
        return self._run(self._take_offline(entries[SLICE:]), agent.credential) if len(entries) > SLICE else None

    async def _take_offline(self, entries: list[Entry]) -> None:
        for number, entry in enumerate(entries):
            if not number % SLICE:
                await asyncio.sleep(0)
            self.take_offline(entry)

    async def auth(self, agent: AgentConnection, message: tunnel.Auth) -> tunnel.AuthAnswer:
        if agent.credential:
            raise Refusal(105, "this session is authenticated already")
        if self.draining:
            raise Refusal(503, "this edge is shutting down", status=503)
        token = self._credentials.token(message.extra.token)
        checked_metadata(message.extra.metadata)
        client_id = message.client_id[:100] or new_id("ci")
        for other in list(self.agents.values()):
            if other.client_id == client_id and other.credential == token.id:
                log.info("agent came back, its older session ends", session=other.id)
                rest = self.left(other)
                other.close()
                if rest is not None:
                    await asyncio.shield(rest)
        if agent.credential:
            raise Refusal(105, "this session is authenticated already")
        limit = limit_of(token, "max_sessions", self._settings.sessions_per_token)
        if sum(a.credential == token.id for a in self.agents.values()) >= limit:
            raise over_limit(108, "sessions", limit)
        agent.accept(message, client_id, token.id)
        self.agents[agent.id] = agent
        self._metrics.agents.set(len(self.agents))
        log.info("agent joined", session=agent.id, peer=agent.peer, client=message.extra.client_type)
        extra = tunnel.AuthAnswerExtra(
            version=seamark_edge.__version__,
            region=self._settings.region,
            cookie=client_id,
            account_name="seamark",
            plan_name="self-hosted",
            window=agent.window or msgspec.UNSET,
            reports=True if agent.reports else msgspec.UNSET,
        )
        return tunnel.AuthAnswer(client_id=client_id, extra=extra)

    async def bind(self, agent: AgentConnection, message: tunnel.Bind) -> tunnel.BindAnswer:
        try:
            self._budget.spend(_caller(agent, message.extra.name))
            answer = await self._bind_or_refuse(agent, message)
        except Refusal as refusal:
            agent.was_refused(message, refusal)
            raise
        agent.was_bound(message)
        return answer

    async def _bind_or_refuse(self, agent: AgentConnection, message: tunnel.Bind) -> tunnel.BindAnswer:
        try:
            return await self._bind(agent, message)
        except DatabaseAway as error:
            raise store_away(error) from error

    async def _bind(self, agent: AgentConnection, message: tunnel.Bind) -> tunnel.BindAnswer:
        policy = await self._checker.policy(policy_of(message), _caller(agent, message.extra.name))
        wanted = read_bind(message, policy, self._settings.domain, self._places.public_port)
        port = self._places.public_port(message.proto) if not wanted.url and message.proto != "tcp" else 0
        returning = self._places.url_of(message.extra.token, agent.credential) if message.extra.token else ""
        if not wanted.url and not returning and message.extra.pooling_enabled:
            returning = self._places.meeting(message.extra.name, message.proto, agent.credential)
        url = wanted.url or (parse_url(returning) if returning else None)
        entry = entry_of(agent, agent.credential, message, wanted, url or EndpointUrl(message.proto, "", port))
        await self._online(entry, url, returning)
        if entry.public:
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
        self._budget.spend(Caller(agent.credential))
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
            metadata=checked_metadata(message.metadata),
            forwards_to=message.forwards_to[:1024],
            forwards_proto=message.forwards_proto[:16],
        )
        await self._online(entry, url, "")
        entry.opening = False
        return tunnel.StartWithLabelsAnswer(id=entry.bind_id)

    async def unbind(self, agent: AgentConnection, message: tunnel.Unbind) -> tunnel.Outcome:
        entry = self._registry.of_bind(agent, message.id)
        self._budget.spend(_caller(agent, entry.name if entry is not None else ""))
        if entry is not None:
            self.take_offline(entry)
            return tunnel.Outcome()
        raise Refusal(404, f"no endpoint with the id {message.id[:100]!r} in this session", status=404)

    def info(self) -> tunnel.ServerInfo:
        return tunnel.ServerInfo(region=self._settings.region)

    def report(self, agent: AgentConnection, message: tunnel.UpstreamReport) -> tunnel.Outcome:
        if not self.upstreams.reported(agent, message):
            raise Refusal(404, f"no endpoint with the id {message.id[:100]!r} in this session", status=404)
        return tunnel.Outcome()

    def count(self, kind: str, outcome: str) -> None:
        self._metrics.rpcs.labels(kind, outcome).inc()

    # For the API and the server

    def take_offline(self, entry: Entry) -> None:
        """Stop listening for it; connections that are open go on as long as their agent is there."""
        if entry.id not in self._registry.entries:
            return
        last = self._registry.remove(entry)
        self._metrics.endpoints.set(len(self._registry.entries))
        if last and entry.public and entry.url.scheme == "tcp":
            self._ports.close(entry.url.port)
        if last and entry.public and entry.agent is not None:
            self._run(self._places.unlease(entry.url), entry.credential)
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
            with self.failures.contained("sweep"):
                self._close_silent(agent, now)

    def _close_silent(self, agent: AgentConnection, now: float) -> None:
        if agent.silent(now):
            log.warning("agent sends nothing, its session ends", session=agent.id, peer=agent.peer)
            agent.abort()

    def close(self) -> None:
        self.upstreams.close()
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
        limit = limit_of(token, "max_endpoints", self._settings.endpoints_per_token)
        if self._registry.of_credential(entry.credential) >= limit:
            raise over_limit(324, "endpoints", limit)
        if entry.url.host:
            may_bind(token, entry.url)

    def _evict(self, entry: Entry, returning: str) -> None:
        """An agent's own older endpoint at this place is replaced, if the agent shows the token of that endpoint."""
        group = self._registry.find(entry.place)
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
        for most in (FEW_PORTS, MANY_PORTS):  # the first one is almost always taken
            urls = self._places.pick_ports(most)
            for url in urls:
                entry.url = url
                may_bind(token, url)
                self._meet(entry)
                try:
                    await self._open(entry)
                except Refusal:
                    continue
                return
            if len(urls) < most:
                break  # none are left
        raise no_address_free()

    def _meet(self, entry: Entry) -> None:
        """Before anything is awaited: the next replica of this name comes here, too."""
        if entry.pooling and entry.name:
            self._places.meet(entry.name, entry.url, entry.credential)

    def _run(self, work: Coroutine[Any, Any, None], credential: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._paced(work, credential))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _paced(self, work: Coroutine[Any, Any, None], credential: str) -> None:
        await self.share.paced(f"token {credential}", work)


def _caller(agent: AgentConnection, name: str) -> Caller:
    """Who pays for an endpoint of this name. Agents of a cluster give it the key of the object that it is held for."""
    return Caller(agent.credential, share_of(name[:512])[:MAX_OWNER])
