"""Endpoints of agents and of the API, and the sessions of agents."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import UTC, datetime
from typing import Any

import structlog

from seamark_edge.edge.agents import AgentConnection
from seamark_edge.edge.checking import api_caller
from seamark_edge.edge.errors import Refusal, invalid, not_found
from seamark_edge.edge.ids import new_id
from seamark_edge.edge.places import ADDRESS, DOMAIN
from seamark_edge.edge.policy import Policy
from seamark_edge.edge.registry import Entry
from seamark_edge.edge.urls import EndpointUrl, binding_of, parse_url
from seamark_edge.rest.base import Body, Office, Resource, now, read, ref, set_fields
from seamark_edge.store.record import Record
from seamark_edge.wire.muxado import SessionClosed
from seamark_edge.wire.tunnel import StreamType
from seamark_runtime.clock import timestamp

log = structlog.get_logger(__name__)

CLOUD = "endpoint"
MAX_CHECKED = 100  # endpoints whose upstreams are dialled for one request


class EndpointBody(Body, frozen=True, kw_only=True):
    type: str | None = None
    url: str | None = None
    traffic_policy: str | None = None
    bindings: list[str] | None = None
    pooling_enabled: bool | None = None


def endpoint_view(office: Office, entry: Entry) -> dict[str, Any]:
    """An endpoint as API clients see it, of an agent or of the API."""
    url, agent = entry.url, entry.agent
    domain = office.store.named(DOMAIN, url.host)
    address = office.store.named(ADDRESS, url.hostport) if url.scheme == "tcp" else None
    return {
        "id": entry.id,
        "uri": f"/endpoints/{entry.id}",
        "type": "cloud" if agent is None else "agent",
        "created_at": entry.created,
        "updated_at": entry.created,
        "region": office.settings.region,
        "url": str(url),
        "public_url": str(url),
        "scheme": url.scheme,
        "proto": url.scheme,
        "host": url.host,
        "port": url.port,
        "hostport": url.hostport,
        "bindings": [entry.binding],
        "pooling_enabled": entry.pooling,
        "traffic_policy": entry.policy.text,
        "metadata": entry.metadata,
        "name": entry.name,
        "generation": entry.generation,
        "description": entry.description,
        "upstream_url": entry.forwards_to,
        "upstream_protocol": entry.forwards_proto,
        "domain": ref("/reserved_domains", domain.id) if domain else None,
        "tcp_addr": ref("/reserved_addrs", address.id) if address else None,
        "tunnel_session": ref("/tunnel_sessions", agent.id) if agent else None,
        "principal": ref("/credentials", entry.credential) if entry.credential else None,
        "edge": None,
        "tunnel": None,
        "seamark_upstream": office.sessions.upstreams.view(entry),
    }


class CheckBody(Body, frozen=True, kw_only=True):
    ids: list[str]


class Endpoints(Resource):
    """Everything that is online. Those of type cloud are made and changed here; an agent's can only be stopped."""

    path, key, kind, prefix, what = "/endpoints", "endpoints", CLOUD, "ep", "endpoint"

    def ids(self) -> list[str]:
        entries = self.office.registry.entries.values()
        return sorted((entry.id for entry in entries if not entry.opening), reverse=True)

    def view(self, ident: str) -> dict[str, Any]:
        entry = self.office.registry.entries.get(ident)
        if entry is None:
            raise not_found(self.what, ident[:100])
        return endpoint_view(self.office, entry)

    async def create(self, raw: Any) -> dict[str, Any]:
        body = read(raw, EndpointBody)
        if body.type not in (None, "cloud"):
            raise invalid("endpoints of the type 'cloud' are made here; agents bring their own")
        if not body.url:
            raise invalid("url is missing")
        self.store.require()
        record = Record(CLOUD, new_id("ep"), set_fields(body), now())
        entry = self.entry(record, await self._policy(record))
        await self.open(entry)
        try:
            await self.store.put(record)
        except BaseException:
            self.office.sessions.take_offline(entry)
            raise
        return self.view(record.id)

    async def update(self, ident: str, raw: Any) -> dict[str, Any]:
        self.store.require()
        body = read(raw, EndpointBody)
        record, old = self._stored(ident)
        changed = record.changed(**set_fields(body))
        policy = await self._policy(changed)
        while (now_stored := self._stored(ident)) != (record, old):  # changed by another request meanwhile
            record, old = now_stored
            changed = record.changed(**set_fields(body))
            policy = await self._policy(changed)
        entry = self.entry(changed, policy)
        self.office.registry.remove(old)
        try:
            await self.open(entry)
        except BaseException:
            self.office.registry.add(old, restored=True)
            raise
        try:
            await self.store.put(changed)
        except BaseException:
            if self.office.registry.entries.get(ident) is entry:  # no other request has changed it meanwhile
                self.office.registry.remove(entry)
                self.office.registry.add(old, restored=True)
            self._close_port(entry)
            raise
        self._close_port(old)
        return self.view(ident)

    def _close_port(self, entry: Entry) -> None:
        """Of an endpoint that left its place."""
        if entry.public and entry.url.scheme == "tcp" and not self.office.registry.find(entry.url.key):
            self.office.ports.close(entry.url.port)

    def _stored(self, ident: str) -> tuple[Record, Entry]:
        record, entry = self.store.get(CLOUD, ident), self.office.registry.entries.get(ident)
        if record is None or entry is None:
            self._agents_own(ident, "changed")
            raise not_found(self.what, ident[:100])
        return record, entry

    async def _policy(self, record: Record) -> Policy:
        return await self.office.checker.policy(record.body.get("traffic_policy") or "", api_caller.get())

    async def delete(self, ident: str) -> None:
        entry = self.office.registry.entries.get(ident)
        if entry is not None and entry.agent is not None:
            self.office.sessions.stop_tunnel(entry, "the endpoint was deleted through the API")
            return
        await self.store.remove(self.record(ident))
        if (entry := self.office.registry.entries.get(ident)) is not None:
            self.office.sessions.take_offline(entry)

    async def check(self, ident: str) -> dict[str, Any]:
        """Has the agents behind it dial now."""
        entry = self.office.registry.entries.get(ident)
        if entry is None:
            raise not_found(self.what, ident[:100])
        return await self.office.sessions.upstreams.check(entry)

    async def check_all(self, raw: Any) -> dict[str, Any]:
        """The same for several endpoints. One that is not online is left out of the answer."""
        idents = dict.fromkeys(read(raw, CheckBody).ids)
        if len(idents) > MAX_CHECKED:
            raise invalid(f"ids has more than {MAX_CHECKED} endpoints")
        entries = [entry for ident in idents if (entry := self.office.registry.entries.get(ident)) is not None]
        reports = await asyncio.gather(*(self.office.sessions.upstreams.check(entry) for entry in entries))
        found = [{"id": entry.id, "seamark_upstream": report} for entry, report in zip(entries, reports, strict=True)]
        return {"endpoints": found}

    def entry(self, record: Record, policy: Policy) -> Entry:
        """The live endpoint for what was stored; refuses what can't be carried out."""
        body, url = record.body, parse_url(record.body["url"])
        binding = binding_of(url, body.get("bindings"))
        if binding == "public" and url.scheme != "tcp":
            url = EndpointUrl(url.scheme, url.host, self.office.places.public_port(url.scheme))
        if binding == "public":
            self.office.places.check(url, "")
        return Entry(
            id=record.id,
            url=url,
            binding=binding,
            created=record.created,
            pooling=bool(body.get("pooling_enabled")),
            policy=policy,
            terminate=url.scheme == "https" or policy.terminates is not None,
            metadata=body.get("metadata") or "",
            description=body.get("description") or "",
        )

    async def open(self, entry: Entry) -> None:
        self.office.registry.add(entry)
        try:
            if entry.public and entry.url.scheme == "tcp":
                await self.office.ports.open(entry.url.port)
        except OSError as error:
            self.office.registry.remove(entry)
            raise Refusal(9445, f"{entry.url} can't be opened: {error.strerror}", status=503) from error
        except asyncio.CancelledError:
            self.office.registry.remove(entry)
            raise

    async def restore(self) -> None:
        """At start: everything that was stored goes online again; what can't is logged, and can still be deleted."""
        for record in list(self.store.all(CLOUD)):
            try:
                await self.open(self.entry(record, await self._policy(record)))
            except Refusal as refusal:
                log.error("stored endpoint can't go online", endpoint=record.id, reason=refusal.message)

    def _agents_own(self, ident: str, what: str) -> None:
        if ident in self.office.registry.entries:
            raise invalid(f"endpoint {ident} is an agent's and can't be {what} here")


class TunnelSessions(Resource):
    """The agents that are connected: who they are, and a way to stop or restart them."""

    path, key, kind, prefix, what = "/tunnel_sessions", "tunnel_sessions", "", "ts", "tunnel session"
    creates = updates = deletes = False

    def ids(self) -> list[str]:
        return sorted(self.office.sessions.agents, reverse=True)

    def view(self, ident: str) -> dict[str, Any]:
        agent = self._agent(ident)
        return {
            "id": agent.id,
            "uri": f"/tunnel_sessions/{agent.id}",
            "agent_version": agent.auth.version,
            "client_type": agent.auth.client_type,
            "credential": ref("/credentials", agent.credential),
            "ip": agent.peer,
            "metadata": agent.auth.metadata,
            "os": agent.auth.os,
            "region": self.office.settings.region,
            "started_at": timestamp(datetime.fromtimestamp(agent.started, UTC)),
            "transport": "ngrok/2",
            "refused_endpoints": [dataclasses.asdict(refused) for refused in agent.refused.values()],
        }

    async def command(self, ident: str, what: str) -> None:
        """Tell an agent to stop, restart or update, if it can."""
        agent = self._agent(ident)
        refusals = {
            "stop": agent.auth.stop_unsupported_error,
            "restart": agent.auth.restart_unsupported_error,
            "update": agent.auth.update_unsupported_error,
        }
        if what not in refusals:
            raise Refusal(404, "no such path", status=404)
        if refusals[what] != "":
            raise Refusal(409, f"the agent can't {what}: {refusals[what] or 'it does not say that it can'}", status=409)
        kinds = {"stop": StreamType.STOP, "restart": StreamType.RESTART, "update": StreamType.UPDATE}
        try:
            agent.command(kinds[what])
        except SessionClosed as error:
            raise not_found(self.what, ident) from error

    def _agent(self, ident: str) -> AgentConnection:
        agent = self.office.sessions.agents.get(ident)
        if agent is None:
            raise not_found(self.what, ident[:100])
        return agent
