"""From one object along everything it depends on, to a tree of hops.

- An object is followed once: a chain may have a cycle, and a Service may be behind many routes.
- An object that can't be read is a hop, too, and the walk continues with the others.
- A walk never waits: it reads from a `Lookup`. `explained` repeats the walk until the lookup had every object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from seamark.explain.assess import assess, conditions_of, field_owners
from seamark.explain.fixes import fix
from seamark.explain.links import Link, Selection, links
from seamark.explain.model import Hop, ObservedCondition, Raw, Truth
from seamark.explain.reader import Forbidden, Lookup, Missing, Reader
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.errors import UserError

MAX_DEPTH = 12
Meaning = Callable[[str, str, str], str]  # (kind, condition, reason) → what it means


def no_meaning(_kind: str, _type: str, _reason: str) -> str:
    return ""


@dataclass
class Walk:
    """One explanation. `meaning` explains the reasons that Seamark itself sets."""

    lookup: Lookup
    meaning: Meaning = no_meaning
    _seen: set[tuple[Resource, Key]] = field(default_factory=set)

    def explain(self, resource: Resource, key: Key) -> Hop:
        found = self.lookup.get(resource, key)
        if isinstance(found, Forbidden):
            raise UserError(f"you may not read {resource.kind} {key}", hint=found.message)
        if isinstance(found, Missing):
            if not found.served:
                raise UserError(f"this cluster has no {resource}", hint="install it: seamark crds | kubectl apply -f -")
            raise UserError(f"there is no {resource.kind} {key}", hint=f"kubectl get {resource.plural} -A shows them")
        self._seen.add((resource, key))
        return self._hop(resource, found, "", 0)

    def _hop(self, resource: Resource, raw: Raw, how: str, depth: int) -> Hop:
        metadata = raw.get("metadata", {})
        key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
        conditions = tuple(self._with_meaning(resource, condition) for condition in conditions_of(raw))
        truth, message = assess(resource, raw, conditions)
        hop = Hop(resource, key, how, truth, message, fix(resource, raw, truth), conditions, owners=field_owners(raw))
        if depth == MAX_DEPTH or metadata.get("deletionTimestamp"):  # what goes carries nothing
            return hop
        found = [self._follow(link, depth + 1) for link in links(resource, raw)]
        return replace(hop, hops=tuple(below for hops in found for below in hops))

    def _with_meaning(self, resource: Resource, condition: ObservedCondition) -> ObservedCondition:
        return (
            condition
            if condition.good
            else replace(condition, meaning=self.meaning(resource.kind, condition.type, condition.reason))
        )

    def _follow(self, link: Link, depth: int) -> list[Hop]:
        if isinstance(link, Selection):
            return self._all(link, depth)
        if (link.resource, link.key) in self._seen:
            return [Hop(link.resource, link.key, link.how, repeated=True)]
        self._seen.add((link.resource, link.key))
        found = self.lookup.get(link.resource, link.key)
        if isinstance(found, dict):
            return [self._hop(link.resource, found, link.how, depth)]
        return [unread(link.resource, link.key, link.how, found)]

    def _all(self, link: Selection, depth: int) -> list[Hop]:
        found = self.lookup.all(link)
        if isinstance(found, Forbidden):
            return [unread(link.resource, Key(link.namespace, "*"), link.how, found)]
        matching = [] if isinstance(found, Missing) else found
        if len(matching) < link.least:
            message = f"there is none with {link.selector}" if link.labels else "there is none"
            return [Hop(link.resource, Key(link.namespace, "*"), link.how, Truth.MISSING, message)]
        hops = []
        for raw in matching:
            metadata = raw["metadata"]
            at = (link.resource, Key(metadata.get("namespace", ""), metadata["name"]))
            if at not in self._seen:
                self._seen.add(at)
                hops.append(self._hop(link.resource, raw, link.how, depth))
        healthy = [hop for hop in hops if not hop.truth.broken]
        return [hop for hop in hops if hop.truth.broken or hop in healthy[: link.most]]


async def explained(reader: Reader, resource: Resource, key: Key, meaning: Meaning = no_meaning) -> Hop:
    """The whole chain, read from a cluster. The object itself must be there and readable."""
    reader.get(resource, key)
    while await reader.catch_up():
        hop = Walk(reader, meaning).explain(resource, key)
    return hop


def unread(resource: Resource, key: Key, how: str, found: Missing | Forbidden) -> Hop:
    if isinstance(found, Forbidden):
        return Hop(resource, key, how, Truth.HIDDEN, "you may not read it")
    message = "it does not exist" if found.served else f"this cluster has no {resource}"
    return Hop(resource, key, how, Truth.MISSING, message, fix=f"create it, or change what names it ({how})")
