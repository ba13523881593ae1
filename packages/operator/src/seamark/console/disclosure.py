"""What a user may see: the only way from the board and the evidence to a response.

- Decided by kind and namespace, also of objects that are gone: the name of a deleted object is as private as that of
  an existing one.
- Of a hop that the user may not read only the kind is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seamark.console.access import Access, User
from seamark.console.graph import endpoint, identity
from seamark.explain import kinds
from seamark.explain.live import KnownEvidence, ObjectRef
from seamark.explain.model import Hop, Truth, root_cause
from seamark.explain.show import plain
from seamark.explain.summary import FAMILIES
from seamark_runtime.api.meta import Key, Resource

FAMILY = {kind: family for family, members in FAMILIES.items() for kind in members} | {
    kinds.SERVICE: "loadbalancer",
    kinds.INGRESS: "other",
}
Readable = set[tuple[Resource, str]]


@dataclass(frozen=True)
class Disclosure:
    access: Access
    user: User

    async def may_read(self, resource: Resource, key: Key) -> bool:
        return await self.access.may_read(self.user, resource, key.namespace)

    async def rows(self, hops: Sequence[Hop]) -> list[dict[str, Any]]:
        """The endpoints that the person may read, each with its hops."""
        readable = await self._readable((below.resource, below.key) for hop in hops for below in hop.walk())
        return [_row(hop, readable) for hop in hops if (hop.resource, hop.key.namespace) in readable]

    async def gone(self, keys: Iterable[Key]) -> list[str]:
        """The rows that are to be taken away, of those that the person could have been shown."""
        objects = [(at, *endpoint(at)) for at in keys]
        readable = await self._readable((resource, key) for _, resource, key in objects)
        return [str(at) for at, resource, key in objects if (resource, key.namespace) in readable]

    async def tree(self, hop: Hop) -> dict[str, Any]:
        readable = await self._readable((below.resource, below.key) for below in hop.walk())
        return _tree(plain(hop)["tree"], readable)

    async def evidence(
        self, objects: Sequence[ObjectRef], known: Callable[[Resource, Key], list[str]]
    ) -> KnownEvidence:
        readable = await self._readable(objects)
        return {(kind, key): tuple(known(kind, key)) for kind, key in objects if (kind, key.namespace) in readable}

    async def _readable(self, objects: Iterable[ObjectRef]) -> Readable:
        return await self.access.readable(self.user, {(resource, key.namespace) for resource, key in objects})


def _row(hop: Hop, readable: Readable) -> dict[str, Any]:
    """One endpoint and its hops, depth first: the depth shows which hop depends on which."""
    cause = root_cause(hop)
    return {
        "id": str(identity(hop.resource, hop.key)),
        "family": FAMILY.get(hop.resource, "other"),
        **_cell(hop, cause, 0, readable),
        "hops": [_cell(below, cause, depth, readable) for below, depth in _deep(hop, 1)],
    }


def _deep(hop: Hop, depth: int) -> Iterator[tuple[Hop, int]]:
    for below in hop.hops:
        if not below.repeated:
            yield below, depth
            yield from _deep(below, depth + 1)


def _cell(hop: Hop, cause: Hop | None, depth: int, readable: Readable) -> dict[str, Any]:
    if (hop.resource, hop.key.namespace) not in readable:
        return {"kind": hop.resource.kind, "namespace": "", "name": "", "truth": Truth.HIDDEN.value, "depth": depth}
    cell = {"kind": hop.resource.kind, **hop.key._asdict(), "truth": hop.truth.value, "depth": depth}
    message = {"words": hop.message} if hop.message else {}
    return {**cell, **message, **({"how": hop.how} if hop.how else {}), **({"cause": True} if hop is cause else {})}


def _tree(tree: dict[str, Any], readable: Readable) -> dict[str, Any]:
    """The tree without what the person may not read."""
    hops = [_tree(child, readable) for child in tree["hops"]]
    if (kinds.named(tree["kind"]), tree["namespace"]) in readable:
        return {**tree, "hops": hops}
    return {"kind": tree["kind"], "namespace": "", "name": "", "truth": "Hidden", "conditions": [], "hops": hops}
