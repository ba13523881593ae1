"""An edge behind `Calls`: finding before making, adopting after a lost reply, one view of what is ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import replace

import msgspec

from seamark.providers.edge.calls import Calls, Kind
from seamark.providers.edge.objectcache import Freshness, ObjectCache
from seamark_edge.model import (
    Address,
    AgentSession,
    Bound,
    Capabilities,
    Certificate,
    Domain,
    DomainSpec,
    Endpoint,
    EndpointSpec,
    Fields,
    Operator,
    OperatorSpec,
    Owner,
    RefusedEndpoint,
    Snapshot,
    Upstream,
)
from seamark_edge.urls import readable
from seamark_runtime.errors import Exists, Gone

MOST_HOLDERS = 100  # one page


class RemoteEdge:
    """`EdgeProvider` over `Calls`. See the protocol for its promises."""

    def __init__(self, calls: Calls, capabilities: Capabilities, freshness: Freshness | None = None) -> None:
        self._calls = calls
        self._capabilities = capabilities
        freshness = freshness or Freshness()
        self._addresses = ObjectCache(calls, Kind.ADDRESSES, freshness)
        self._domains = ObjectCache(calls, Kind.DOMAINS, freshness)
        self._endpoints = ObjectCache(calls, Kind.ENDPOINTS, freshness)
        self._operators = ObjectCache(calls, Kind.OPERATORS, freshness)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def reserve_address(self, owner: Owner) -> Address:
        return _address(await self._addresses.ensure(owner, {"description": _description(owner)}))

    async def release_address(self, owner: Owner) -> None:
        await self._addresses.delete(owner)

    async def keep_addresses(self, owner: Owner, purposes: Collection[str]) -> dict[str, Address]:
        wanted = {purpose: replace(owner, purpose=purpose) for purpose in purposes}
        kept = {purpose: await self.reserve_address(candidate) for purpose, candidate in wanted.items()}
        for candidate in await self._addresses.owned(
            lambda candidate: candidate == replace(owner, purpose=candidate.purpose)
        ):
            if candidate.purpose not in wanted:
                await self._addresses.delete(candidate)
        return kept

    async def find_address(self, addr: str) -> Address | None:
        found = await self._addresses.search(lambda item: bool(item["addr"] == addr))
        return None if found is None else _address(found)

    async def reserve_domain(self, owner: Owner, domain: str, wanted: DomainSpec = DomainSpec()) -> Domain:  # noqa: B008
        owner = replace(owner, reclaim=wanted.reclaim)
        found = await self._domains.find(owner)
        if found is not None and found["domain"] != domain:
            await self._domains.delete(owner)  # the owner wants another name now
        elif found is None and (there := await self._domain_by_hand(domain, float("inf"))) is not None:
            return there
        body: Fields = {
            "domain": domain,
            "description": wanted.description or _description(owner),
            "metadata": wanted.metadata,
        }
        if wanted.resolves_to:
            body["resolves_to"] = [{"value": value} for value in wanted.resolves_to]
        try:
            made = await self._domains.ensure(owner, body)
            if reclaim_of(made) != wanted.reclaim:  # made by an earlier version, or the policy has changed
                made = await self._domains.update(owner, {"metadata": wanted.metadata})
            return _domain(made)
        except Exists:
            if (there := await self._domain_by_hand(domain, 0.0)) is None:
                raise
            return there

    async def _domain_by_hand(self, domain: str, max_age: float) -> Domain | None:
        """One that the account's owner has reserved: it is there for us, and stays when we go."""
        found = await self._domains.search(lambda item: bool(item["domain"] == domain), max_age)
        return None if found is None or Owner.of(found.get("metadata") or "") is not None else _domain(found)

    async def retain_domain(self, owner: Owner) -> None:
        await self._domains.release(owner)

    async def release_domain(self, owner: Owner) -> None:
        await self._domains.delete(owner)

    async def open_endpoint(self, owner: Owner, wanted: EndpointSpec) -> Endpoint:
        body = {
            "url": wanted.url,
            "traffic_policy": wanted.policy,
            "bindings": list(wanted.bindings) or None,
            "pooling_enabled": wanted.pooling,
            "description": wanted.description,
            "metadata": wanted.metadata,
        }
        body = {name: value for name, value in body.items() if value is not None}
        found = _endpoint(await self._endpoints.ensure(owner, {"type": "cloud", **body}))
        if not _differs(found, wanted):
            return found
        try:
            return _endpoint(await self._endpoints.update(owner, body))
        except Gone:  # deleted by hand a moment ago
            return _endpoint(await self._endpoints.ensure(owner, {"type": "cloud", **body}))

    async def close_endpoint(self, owner: Owner) -> None:
        await self._endpoints.delete(owner)

    async def set_policy(self, owner: Owner, policy: str) -> Endpoint:
        return _endpoint(await self._endpoints.update(owner, {"traffic_policy": policy}))

    async def register(self, owner: Owner, wanted: OperatorSpec) -> Operator:
        name, namespace, version = wanted.deployment
        binding: Fields = {"endpoint_selectors": list(wanted.selectors)}
        if wanted.csr:
            binding["csr"] = wanted.csr
        body: Fields = {
            "description": _description(owner),
            "enabled_features": list(wanted.features),
            "deployment": {"name": name, "namespace": namespace, "version": version},
            "binding": binding,
        }
        known = await self._operators.find(owner)
        made = _operator(await self._operators.ensure(owner, body))
        if known is not None and (wanted.csr or made.selectors != wanted.selectors):
            made = _operator(await self._operators.update(owner, body))
        return made

    async def unregister(self, owner: Owner) -> None:
        await self._operators.delete(owner)

    async def registrations(self, cluster: str) -> Collection[Owner]:
        return tuple(await self._operators.owned(lambda owner: owner.cluster == cluster))

    async def bound_endpoints(self, operator: str) -> tuple[Bound, ...]:
        found = await self._calls.bound(operator)
        return tuple(Bound(item["id"], item["public_url"], item["proto"], item.get("uri") or "") for item in found)

    async def holders(self, url: str) -> tuple[Endpoint, ...]:
        found = await self._calls.listed(Kind.ENDPOINTS, limit=MOST_HOLDERS, where=f'obj.type == "agent" && {_at(url)}')
        return tuple(_endpoint(item) for item in found)

    async def online(self) -> tuple[Endpoint, ...]:
        return tuple(_endpoint(item) for item in await self._endpoints.everything())

    async def upstreams(self, idents: Collection[str]) -> dict[str, Upstream]:
        found = await self._calls.check(idents)
        return {ident: _upstream(report) for ident, report in found.items()}

    async def sessions(self) -> tuple[AgentSession, ...]:
        found = await self._calls.listed(Kind.SESSIONS) if self._capabilities.own_agent else []
        return tuple(sorted((_session(item) for item in found), key=lambda session: session.id))

    async def owners(self, cluster: str, cluster_uid: str = "") -> dict[str, Collection[Owner]]:
        def ours(owner: Owner) -> bool:
            return owner.cluster == cluster and (not cluster_uid or owner.cluster_uid == cluster_uid)

        shelves = {"address": self._addresses, "endpoint": self._endpoints, "domain": self._domains}
        found = {kind: await shelf.owned(ours) for kind, shelf in shelves.items()}
        return {
            kind: tuple(filter(None, (Owner.of(item.get("metadata") or "") for item in owned.values())))
            for kind, owned in found.items()
        }

    async def owned(self, cluster: str) -> Snapshot:
        addresses, domains, endpoints = [
            [item for owner, item in (await shelf.refresh()).items() if owner.cluster == cluster]
            for shelf in (self._addresses, self._domains, self._endpoints)
        ]
        agents = [endpoint for endpoint in await self.online() if endpoint.type == "agent"]
        return Snapshot(
            tuple(sorted((_address(item) for item in addresses), key=lambda address: address.id)),
            tuple(sorted((_domain(item) for item in domains), key=lambda domain: domain.id)),
            tuple(sorted((_endpoint(item) for item in endpoints), key=lambda endpoint: endpoint.id)),
            tuple(sorted(agents, key=lambda agent: agent.id)),
            await self.sessions(),
        )

    async def watch(self, cluster: str, every: float) -> AsyncIterator[Snapshot]:
        before: Snapshot | None = None
        while True:
            now = await self.owned(cluster)
            if now != before:
                yield now
            before = now
            await asyncio.sleep(every)

    async def probe(self) -> None:
        await self._calls.listed(Kind.KEYS, limit=1)

    async def close(self) -> None:
        await self._calls.close()


def reclaim_of(item: Fields) -> str:
    owner = Owner.of(item.get("metadata") or "")
    return owner.reclaim if owner is not None else ""


def _differs(found: Endpoint, wanted: EndpointSpec) -> bool:
    bindings = wanted.bindings or found.bindings
    return (found.policy, found.bindings, found.pooling, found.description, _place(found.url)) != (
        wanted.policy,
        bindings,
        wanted.pooling,
        wanted.description,
        _place(wanted.url),
    )


def _place(url: str) -> str:
    """A URL without what an edge adds by itself: there is one port for each scheme with hosts."""
    found = readable(url)
    return url if found is None or found.scheme == "tcp" else f"{found.scheme}://{found.host}"


def _at(url: str) -> str:
    """The expression for endpoints at this place. One with a host and no port is at the scheme's one public port."""
    scheme, _, place = url.partition("://")
    if scheme == "tcp" or place.rpartition(":")[2].isdecimal():
        return f"obj.url == {_quoted(url)}"
    return f"obj.scheme == {_quoted(scheme)} && obj.host == {_quoted(place)}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _description(owner: Owner) -> str:
    return f"for {owner.namespace}/{owner.name}"[:255]


def _address(item: Fields) -> Address:
    return Address(item["id"], item["addr"], Owner.of(item.get("metadata") or ""))


def _domain(item: Fields) -> Domain:
    policy = item.get("certificate_management_policy") or {}
    status = item.get("certificate_management_status") or {}
    job = status.get("provisioning_job") or {}
    return Domain(
        item["id"],
        item["domain"],
        item.get("cname_target") or "",
        Owner.of(item.get("metadata") or ""),
        resolves_to=tuple(entry["value"] for entry in item.get("resolves_to") or () if entry.get("value")),
        acme_challenge=item.get("acme_challenge_cname_target") or "",
        certificate=Certificate(
            id=(item.get("certificate") or {}).get("id", ""),
            authority=policy.get("authority") or "",
            key_type=policy.get("private_key_type") or "",
            renews_at=status.get("renews_at") or "",
            error_code=job.get("error_code") or "",
            error=job.get("msg") or job.get("message") or "",
            started_at=job.get("started_at") or "",
            retries_at=job.get("retries_at") or "",
        ),
    )


def _endpoint(item: Fields) -> Endpoint:
    return Endpoint(
        item["id"],
        item.get("url") or item.get("public_url") or "",
        item.get("type") or "",
        Owner.of(item.get("metadata") or ""),
        item.get("traffic_policy") or "",
        tuple(item.get("bindings") or ()),
        bool(item.get("pooling_enabled")),
        item.get("description") or "",
        (item.get("tunnel_session") or {}).get("id", ""),
        item.get("upstream_url") or "",
        item.get("name") or "",
        item.get("generation") or 0,
    )


def _upstream(report: Fields) -> Upstream:
    return Upstream(report.get("reachable"), report.get("detail") or "", report.get("agents") or 0)


def _session(item: Fields) -> AgentSession:
    refused = tuple(
        RefusedEndpoint(entry["name"], entry["url"], entry["generation"], entry["message"], entry.get("code") or "")
        for entry in item.get("refused_endpoints") or ()
    )
    return AgentSession(item["id"], item.get("metadata") or "", refused)


def _operator(item: Fields) -> Operator:
    binding = item.get("binding") or {}
    certificate = binding.get("cert") or {}
    return Operator(
        item["id"],
        Owner.of(item.get("metadata") or ""),
        tuple(binding.get("endpoint_selectors") or ()),
        certificate.get("cert") or "",
        certificate.get("not_after") or "",
        binding.get("ingress_endpoint") or "",
    )
