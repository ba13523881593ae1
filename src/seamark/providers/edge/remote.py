"""An edge behind `Calls`: finding before making, adopting after a lost reply, one view of what is ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from seamark.core.errors import Exists, Gone, SeamarkError, Uncertain
from seamark.providers.edge.calls import Calls, Kind
from seamark.providers.edge.model import (
    Address,
    Bound,
    Capabilities,
    Domain,
    Endpoint,
    EndpointSpec,
    Fields,
    Operator,
    OperatorSpec,
    Owner,
    Snapshot,
)


class Shelf:
    """What is ours of one kind, by owner. Listed once, then kept by our own answers.

    - After a lost reply, or a surprise, it is listed again before anything else is decided.
    - Of two objects with one owner (made before a crash that neither saw) the older one counts, the other is deleted.
    """

    def __init__(self, calls: Calls, kind: Kind) -> None:
        self._calls = calls
        self._kind = kind
        self._found: dict[Owner, Fields] | None = None
        self._lock = asyncio.Lock()
        self.agents: list[Fields] = []  # of endpoints: those that agents hold, as of the last listing

    async def find(self, owner: Owner) -> Fields | None:
        return (await self._view()).get(owner)

    async def make(self, owner: Owner, body: Fields) -> Fields:
        """The owner's object: the one that is there, or a new one."""
        async with self._lock:
            found = await self._view()
            if owner in found:
                return found[owner]
            try:
                made = await self._calls.create(self._kind, {**body, "metadata": owner.metadata})
            except (Uncertain, Exists):
                # It may have been made after all. If so, it has our mark.
                self._found = None
                found = await self._view()
                if owner not in found:
                    raise
                return found[owner]
            found[owner] = made
            return made

    async def change(self, owner: Owner, body: Fields) -> Fields:
        async with self._lock:
            found = await self._view()
            if owner not in found:
                raise Gone(f"{self._kind.name.lower()} of {owner.namespace}/{owner.name} are not there")
            try:
                found[owner] = await self._calls.update(self._kind, found[owner]["id"], body)
            except SeamarkError:
                self._found = None
                raise
            return found[owner]

    async def drop(self, owner: Owner) -> None:
        async with self._lock:
            found = await self._view()
            if owner in found:
                try:
                    await self._calls.delete(self._kind, found[owner]["id"])
                except Gone:
                    pass
                except SeamarkError:
                    self._found = None
                    raise
                found.pop(owner, None)

    async def refresh(self) -> dict[Owner, Fields]:
        async with self._lock:
            self._found = None
            return dict(await self._view())

    async def _view(self) -> dict[Owner, Fields]:
        if self._found is None:
            found: dict[Owner, Fields] = {}
            items = sorted(await self._calls.listed(self._kind), key=lambda item: str(item["id"]))
            self.agents = [item for item in items if item.get("type") == "agent"]
            for item in items:
                owner = Owner.of(item.get("metadata") or "")
                if owner is None or item.get("type") == "agent":
                    continue
                if owner in found:
                    await self._calls.delete(self._kind, item["id"])
                else:
                    found[owner] = item
            self._found = found
        return self._found


class RemoteEdge:
    """`EdgeProvider` over `Calls`. See the protocol for its promises."""

    def __init__(self, calls: Calls, capabilities: Capabilities) -> None:
        self._calls = calls
        self._capabilities = capabilities
        self._addresses = Shelf(calls, Kind.ADDRESSES)
        self._domains = Shelf(calls, Kind.DOMAINS)
        self._endpoints = Shelf(calls, Kind.ENDPOINTS)
        self._operators = Shelf(calls, Kind.OPERATORS)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def reserve_address(self, owner: Owner) -> Address:
        return _address(await self._addresses.make(owner, {"description": _words(owner)}))

    async def release_address(self, owner: Owner) -> None:
        await self._addresses.drop(owner)

    async def reserve_domain(self, owner: Owner, domain: str) -> Domain:
        found = await self._domains.find(owner)
        if found is not None and found["domain"] != domain:
            await self._domains.drop(owner)  # the owner wants another name now
        return _domain(await self._domains.make(owner, {"domain": domain, "description": _words(owner)}))

    async def release_domain(self, owner: Owner) -> None:
        await self._domains.drop(owner)

    async def open_endpoint(self, owner: Owner, wanted: EndpointSpec) -> Endpoint:
        body = {
            "url": wanted.url,
            "traffic_policy": wanted.policy,
            "bindings": list(wanted.bindings) or None,
            "pooling_enabled": wanted.pooling,
            "description": wanted.description,
        }
        body = {name: value for name, value in body.items() if value is not None}
        found = _endpoint(await self._endpoints.make(owner, {"type": "cloud", **body}))
        if _differs(found, wanted):
            found = _endpoint(await self._endpoints.change(owner, body))
        return found

    async def close_endpoint(self, owner: Owner) -> None:
        await self._endpoints.drop(owner)

    async def set_policy(self, owner: Owner, policy: str) -> Endpoint:
        return _endpoint(await self._endpoints.change(owner, {"traffic_policy": policy}))

    async def register(self, owner: Owner, wanted: OperatorSpec) -> Operator:
        name, namespace, version = wanted.deployment
        binding: Fields = {"endpoint_selectors": list(wanted.selectors)}
        if wanted.csr:
            binding["csr"] = wanted.csr
        body: Fields = {
            "description": _words(owner),
            "enabled_features": list(wanted.features),
            "deployment": {"name": name, "namespace": namespace, "version": version},
            "binding": binding,
        }
        known = await self._operators.find(owner)
        made = _operator(await self._operators.make(owner, body))
        if known is not None and (wanted.csr or made.selectors != wanted.selectors):
            made = _operator(await self._operators.change(owner, body))
        return made

    async def unregister(self, owner: Owner) -> None:
        await self._operators.drop(owner)

    async def bound_endpoints(self, operator: str) -> tuple[Bound, ...]:
        found = await self._calls.bound(operator)
        return tuple(Bound(item["id"], item["public_url"], item["proto"], item.get("uri") or "") for item in found)

    async def holders(self, url: str) -> tuple[Endpoint, ...]:
        everything = [_endpoint(item) for item in await self._calls.listed(Kind.ENDPOINTS)]
        return tuple(endpoint for endpoint in everything if endpoint.type == "agent" and endpoint.url == url)

    async def owned(self, cluster: str) -> Snapshot:
        addresses, domains, endpoints = [
            [item for owner, item in (await shelf.refresh()).items() if owner.cluster == cluster]
            for shelf in (self._addresses, self._domains, self._endpoints)
        ]
        agents = [_endpoint(item) for item in self._endpoints.agents]
        return Snapshot(
            tuple(sorted((_address(item) for item in addresses), key=lambda one: one.id)),
            tuple(sorted((_domain(item) for item in domains), key=lambda one: one.id)),
            tuple(sorted((_endpoint(item) for item in endpoints), key=lambda one: one.id)),
            tuple(sorted(agents, key=lambda one: one.id)),
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
    scheme, _, rest = url.partition("://")
    return url if scheme == "tcp" else f"{scheme}://{rest.partition(':')[0]}"


def _words(owner: Owner) -> str:
    return f"for {owner.namespace}/{owner.name}"[:255]


def _address(item: Fields) -> Address:
    return Address(item["id"], item["addr"], Owner.of(item.get("metadata") or ""))


def _domain(item: Fields) -> Domain:
    return Domain(item["id"], item["domain"], item.get("cname_target") or "", Owner.of(item.get("metadata") or ""))


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
    )


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
