"""An edge in memory: the same calls, the same refusals, no sockets. It passes the contract tests of the real one.

No client reaches what it keeps, and no agent connects to it, which its capabilities report. A fake of an edge, for
tests, has those of an edge that clients reach (`reachable`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from itertools import count
from typing import Any

from seamark.providers.edge.calls import Kind
from seamark.providers.edge.objectcache import Freshness
from seamark.providers.edge.policies import policy_refusal
from seamark.providers.edge.remote import RemoteEdge
from seamark_edge.model import Capabilities, Fields
from seamark_edge.urls import Place, readable
from seamark_edge.wire.expressions import FILTER, SELECTOR, ExpressionError, compiled, holds
from seamark_runtime.errors import Exists, Gone, Refused, Uncertain

CAPABILITIES = Capabilities(
    name="memory",
    requests_per_minute=1_000_000,
    bindings=True,
    own_agent=True,
    custom_ca=True,
    upstream_checks=True,
    policy_refusal=policy_refusal,
)
LATER = "2099-01-01T00:00:00Z"


class MemoryCalls:
    """`Calls` on dictionaries.

    - `lose_next_reply` lets the next write happen and raises `Uncertain` instead of answering it.
    - `requests` counts what a real edge would have been asked.
    """

    def __init__(self, host: str = "127.0.0.1", domain: str = "edge.localhost") -> None:
        self._host = host
        self._domain = domain
        self._objects: dict[Kind, dict[str, Fields]] = {kind: {} for kind in Kind}
        self._numbers = count(1)
        self._ports = count(20000)
        self._lose = False
        self.requests = 0
        self.unreachable: dict[str, str] = {}  # by the URL of an endpoint: why agents do not reach its upstream

    def lose_next_reply(self) -> None:
        self._lose = True

    def agent_holds(
        self, url: str, metadata: str = "", bindings: tuple[str, ...] = ("public",), **fields: str | int | bool
    ) -> str:
        """An agent connects and brings an endpoint online; returns its id. `fields`: others of the API."""
        body = {"type": "agent", "url": url, "metadata": metadata, "bindings": list(bindings), **fields}
        made = self._new(Kind.ENDPOINTS, {**_place(url), **body})
        made["tunnel_session"] = {"id": self._new(Kind.SESSIONS, {"metadata": "", "refused_endpoints": []})["id"]}
        ident: str = made["id"]
        made["uri"] = f"/endpoints/{ident}"
        return ident

    def endpoint_goes(self, ident: str) -> None:
        """An agent gives up one endpoint, and stays."""
        self._objects[Kind.ENDPOINTS].pop(ident, None)

    def agent_refused(self, name: str, url: str, generation: int, message: str) -> None:
        """An agent comes, and does not get the endpoint that it asks for."""
        refused = {"name": name, "url": url, "generation": generation, "message": message}
        self._new(Kind.SESSIONS, {"metadata": "", "refused_endpoints": [refused]})

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        self.requests += 1
        newest = sorted(self._objects[kind].values(), key=lambda item: str(item["id"]), reverse=True)
        chosen = [dict(item) for item in newest if not where or holds(where, {"obj": item}, FILTER)]
        return chosen[: limit or None]

    async def create(self, kind: Kind, body: Fields) -> Fields:
        self.requests += 1
        self._check(kind, body, "")
        made = self._new(kind, body)
        if kind is Kind.ADDRESSES:
            made["addr"] = f"{self._host}:{next(self._ports)}"
        elif kind is Kind.DOMAINS:
            made["cname_target"] = self._cname(made["domain"])
        elif kind is Kind.OPERATORS:
            self._sign(made)
        elif kind is Kind.ENDPOINTS:
            made.setdefault("bindings", ["public"])
            made |= {**_place(made["url"]), **made}
        return self._reply(made)

    async def update(self, kind: Kind, ident: str, body: Fields) -> Fields:
        self.requests += 1
        found = self._objects[kind].get(ident)
        if found is None:
            raise Gone(f"{kind.name.lower()} {ident!r} is not here")
        self._check(kind, {**found, **body}, ident)
        if kind is Kind.OPERATORS and "binding" in body:
            body = {**body, "binding": {**found["binding"], **body["binding"]}}
        found |= body
        if kind is Kind.OPERATORS:
            self._sign(found)
        return self._reply(found)

    async def delete(self, kind: Kind, ident: str) -> None:
        self.requests += 1
        if self._objects[kind].pop(ident, None) is None:
            raise Gone(f"{kind.name.lower()} {ident!r} is not here")

    async def check(self, idents: Collection[str]) -> dict[str, Fields]:
        """Agents reach every upstream but those in `unreachable` (by URL or id, why)."""
        self.requests += 1
        there = {item["id"]: item for item in self._endpoints()}
        return {ident: self._report(there[ident]) for ident in idents if ident in there}

    def _endpoints(self) -> list[Fields]:
        return list(self._objects[Kind.ENDPOINTS].values())

    def _report(self, item: Fields) -> Fields:
        detail = self.unreachable.get(item["url"], "")
        return {"reachable": not detail, "detail": detail, "agents": 1}

    async def bound(self, operator: str) -> list[Fields]:
        if operator not in self._objects[Kind.OPERATORS]:
            raise Gone(f"operator {operator!r} is not here")
        selectors = self._objects[Kind.OPERATORS][operator]["binding"]["endpoint_selectors"]
        everything = await self.listed(Kind.ENDPOINTS)
        bound = [item for item in everything if item["bindings"] == ["kubernetes"]]
        return [
            item for item in bound if any(holds(selector, {"ep": item, "endpoint": item}) for selector in selectors)
        ]

    async def close(self) -> None:
        pass

    def _new(self, kind: Kind, body: Fields) -> Fields:
        number = next(self._numbers)
        made = {"id": f"{kind.name.lower()}_{number:08}", "created_at": f"{number:08}", **body}
        self._objects[kind][made["id"]] = made
        return made

    def _check(self, kind: Kind, body: Fields, ident: str) -> None:
        name = {Kind.DOMAINS: "domain", Kind.ENDPOINTS: "url"}.get(kind)
        for other in self._objects[kind].values() if name else ():
            pooled = body.get("pooling_enabled") and other.get("pooling_enabled")
            if name and other["id"] != ident and other[name] == body.get(name) and not pooled:
                raise Exists(f"{body[name]} is taken")
        try:
            for selector in (body.get("binding") or {}).get("endpoint_selectors") or ():
                compiled(selector, SELECTOR)
        except ExpressionError as error:
            raise Refused(str(error), code=400) from error
        if refusal := policy_refusal("", str(body.get("traffic_policy") or "")):
            raise Refused(refusal, reason="ERR_NGROK_2201", code=400)

    def _cname(self, domain: str) -> str | None:
        if domain.endswith("." + self._domain):
            return None
        return f"{hashlib.sha256(domain.encode()).hexdigest()[:20]}.cname.{self._domain}"

    def _sign(self, made: Fields) -> None:
        binding = made.setdefault("binding", {"endpoint_selectors": []})
        binding["ingress_endpoint"] = f"{self._host}:443"
        if csr := binding.pop("csr", None):
            mark = hashlib.sha256(f"{csr}{next(self._numbers)}".encode()).hexdigest()
            binding["cert"] = {"cert": f"certificate {mark}", "not_before": "", "not_after": LATER}

    def _reply(self, made: Fields) -> Fields:
        if self._lose:
            self._lose = False
            raise Uncertain("the reply was lost")
        return dict(made)


def _place(url: str) -> dict[str, Any]:
    """What an edge reports about the place of an endpoint: expressions may refer to any of it.

    An edge may hold endpoints that are none to us; of those it reports the scheme alone.
    """
    found = readable(url) or Place(url.partition("://")[0], "", 0)
    return {
        "type": "cloud",
        "public_url": url,
        "scheme": found.scheme,
        "proto": found.scheme,
        "host": found.host,
        "port": found.port,
        "hostport": found.hostport,
        "metadata": "",
        "description": "",
        "pooling_enabled": False,
    }


def memory_edge(
    calls: MemoryCalls | None = None, freshness: Freshness | None = None, *, reachable: bool = False
) -> RemoteEdge:
    """`reachable`: a fake of an edge that clients and agents reach."""
    capabilities = CAPABILITIES if reachable else replace(CAPABILITIES, reachable=False, upstream_checks=False)
    return RemoteEdge(calls or MemoryCalls(), capabilities, freshness)
