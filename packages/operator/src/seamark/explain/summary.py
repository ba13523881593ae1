"""How many endpoints of each family are as they should be, by namespace."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from seamark.explain import kinds
from seamark.explain.assess import assess, conditions_of
from seamark.explain.links import CLASS
from seamark.explain.model import Raw, Truth
from seamark.explain.reader import Forbidden, Missing, Reader
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.competing import PAUSE, TAKEN

GATEWAY_POLICIES = (kinds.KGATEWAY_POLICY, kinds.BACKEND_TLS_POLICY)
FAMILIES: Mapping[str, tuple[Resource, ...]] = {
    "score": (kinds.WORKLOAD, kinds.CLAIM),
    "dns": (kinds.DNS_ENDPOINT,),
    "gateway": (kinds.GATEWAY_CLASS, kinds.GATEWAYS, kinds.LISTENER_SET, *kinds.ROUTES, *GATEWAY_POLICIES),
    "loadbalancer": (kinds.SERVICE, kinds.AGENT_ENDPOINT, kinds.CLOUD_ENDPOINT, kinds.DOMAIN, kinds.TRAFFIC_POLICY),
    "bindings": (kinds.BOUND_ENDPOINT, kinds.KUBERNETES_OPERATOR),
    "sample": (kinds.GREETING,),
}


@dataclass(frozen=True)
class Problem:
    """One object that is not as it should be."""

    resource: Resource
    key: Key
    truth: Truth
    message: str


@dataclass
class Row:
    family: str
    resource: Resource
    namespace: str
    counts: Counter[Truth] = field(default_factory=Counter)


@dataclass(frozen=True)
class Summary:
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    hidden: tuple[Resource, ...]  # kinds that the user may not list
    installed: bool  # the cluster has at least one of our kinds
    readable: bool = True  # and the user may list at least one
    competing: tuple[str, ...] = ()  # notes about competing controllers that use our names


async def summarise(reader: Reader, namespace: str = "") -> Summary:
    listed = [(family, kind) for family, members in FAMILIES.items() for kind in members]
    lists = await asyncio.gather(*(reader.list_all(kind, namespace if kind.namespaced else "") for _, kind in listed))
    rows: dict[tuple[str, Resource, str], Row] = {}
    problems: list[Problem] = []
    hidden: list[Resource] = []
    installed = readable = False
    for (family, kind), found in zip(listed, lists, strict=True):
        if isinstance(found, Missing):
            continue
        ours = kind != kinds.SERVICE  # which every cluster has
        installed = installed or ours
        if isinstance(found, Forbidden):
            hidden.append(kind)
            continue
        readable = readable or ours
        for raw in found if ours else filter(_of_an_edge, found):
            problem = _assessed(kind, raw)
            at = (family, kind, problem.key.namespace)
            rows.setdefault(at, Row(family, kind, problem.key.namespace)).counts[problem.truth] += 1
            if problem.truth.broken:
                problems.append(problem)
    competing = await _competing_controllers(reader, namespace)
    return Summary(tuple(rows.values()), tuple(problems), tuple(hidden), installed, readable, competing)


async def _competing_controllers(reader: Reader, namespace: str) -> tuple[str, ...]:
    """While a competing controller reverts what we write, every such object has an event about it."""
    found = await reader.list_all(kinds.EVENT, namespace, fields=f"reason={TAKEN}")
    notes = (event.get("note", "") for event in found if _is_recent(event)) if isinstance(found, list) else ()
    return tuple(dict.fromkeys(notes))


def _of_an_edge(raw: Raw) -> bool:
    """Whether this Service is, or is to be, reached through an edge."""
    spec = raw.get("spec") or {}
    wanted = spec.get("type") == "LoadBalancer" and spec.get("loadBalancerClass") == CLASS
    return wanted or any(condition.type.startswith(kinds.SERVICE_CONDITIONS) for condition in conditions_of(raw))


def _is_recent(event: Raw) -> bool:
    last = (event.get("series") or {}).get("lastObservedTime") or event.get("eventTime") or ""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(last)).total_seconds() < PAUSE
    except (ValueError, TypeError):
        return False


def _assessed(kind: Resource, raw: Raw) -> Problem:
    metadata = raw["metadata"]
    truth, message = assess(kind, raw, conditions_of(raw))
    return Problem(kind, Key(metadata.get("namespace", ""), metadata["name"]), truth, message)
