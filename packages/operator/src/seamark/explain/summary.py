"""How many endpoints of each family are as they should be, by namespace."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from seamark.explain import kinds
from seamark.explain.assess import assess, statements
from seamark.explain.model import Raw, Truth
from seamark.explain.reader import Forbidden, Missing, Reader
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.competing import PAUSE, TAKEN

FAMILIES: Mapping[str, tuple[Resource, ...]] = {
    "score": (kinds.WORKLOAD, kinds.CLAIM),
    "dns": (kinds.DNS_ENDPOINT,),
    "gateway": (kinds.GATEWAY_CLASS, kinds.GATEWAYS, kinds.LISTENER_SET, *kinds.ROUTES),
    "loadbalancer": (kinds.AGENT_ENDPOINT, kinds.CLOUD_ENDPOINT, kinds.DOMAIN),
    "bindings": (kinds.BOUND_ENDPOINT, kinds.KUBERNETES_OPERATOR),
    "sample": (kinds.GREETING,),
}


@dataclass(frozen=True)
class Trouble:
    """One object that is not as it should be."""

    resource: Resource
    key: Key
    truth: Truth
    words: str


@dataclass
class Row:
    family: str
    resource: Resource
    namespace: str
    counts: Counter[Truth] = field(default_factory=Counter)


@dataclass(frozen=True)
class Summary:
    rows: tuple[Row, ...]
    troubles: tuple[Trouble, ...]
    hidden: tuple[Resource, ...]  # kinds that the user may not list
    installed: bool  # the cluster has at least one of our kinds
    readable: bool = True  # and the user may list at least one
    rivals: tuple[str, ...] = ()  # who else answers to a name of ours, in our own words


async def summarise(reader: Reader, namespace: str = "") -> Summary:
    asked = [(family, kind) for family, members in FAMILIES.items() for kind in members]
    lists = await asyncio.gather(*(reader.list_all(kind, namespace if kind.namespaced else "") for _, kind in asked))
    rows: dict[tuple[str, Resource, str], Row] = {}
    troubles: list[Trouble] = []
    hidden: list[Resource] = []
    installed = readable = False
    for (family, kind), found in zip(asked, lists, strict=True):
        if isinstance(found, Missing):
            continue
        installed = True
        if isinstance(found, Forbidden):
            hidden.append(kind)
            continue
        readable = True
        for raw in found:
            trouble = _look(kind, raw)
            at = (family, kind, trouble.key.namespace)
            rows.setdefault(at, Row(family, kind, trouble.key.namespace)).counts[trouble.truth] += 1
            if trouble.truth.broken:
                troubles.append(trouble)
    rivals = await _rivals(reader, namespace)
    return Summary(tuple(rows.values()), tuple(troubles), tuple(hidden), installed, readable, rivals)


async def _rivals(reader: Reader, namespace: str) -> tuple[str, ...]:
    """While a competing controller reverts what we write, every such object has an event about it."""
    found = await reader.list_all(kinds.EVENT, namespace, fields=f"reason={TAKEN}")
    words = (one.get("note", "") for one in found if _lately(one)) if isinstance(found, list) else ()
    return tuple(dict.fromkeys(words))


def _lately(event: Raw) -> bool:
    last = (event.get("series") or {}).get("lastObservedTime") or event.get("eventTime") or ""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(last)).total_seconds() < PAUSE
    except (ValueError, TypeError):
        return False


def _look(kind: Resource, raw: Raw) -> Trouble:
    metadata = raw["metadata"]
    truth, words = assess(kind, raw, statements(raw))
    return Trouble(kind, Key(metadata.get("namespace", ""), metadata["name"]), truth, words)
