"""Which host names resolve in DNS. Without that, no client can use them.

- A name is looked up where the runtime can do that; what a DNSEndpoint says of it explains a failure. Where nothing
  is looked up, the DNSEndpoint's word is all there is. A record of the Workload's own namespace that is refused is a
  failure, whatever else answers to the name.
- A published URL is not withdrawn when its name does not resolve for a moment: it is reported as not reachable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seamark.api.dns import DNSEndpoint
from seamark.families.score.runtime.places import Place
from seamark.families.score.runtime.state import Lookup, Published
from seamark_runtime.calls import Call, Failed
from seamark_runtime.conditions import FALSE, UNKNOWN
from seamark_runtime.source import Fresh, NotYet

OTHERS = (FALSE, UNKNOWN)


@dataclass(frozen=True)
class Names:
    """By host: why it does not resolve (`failed`), or that this is not known yet (`waiting`)."""

    failed: Mapping[str, str] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    asked: bool = False  # whether they were looked up
    lost: frozenset[str] = frozenset()  # URLs that are published, and whose name has no answer now


def lookup(seen: Published, host: str) -> Call[bool]:
    action = Lookup(host, _record_trouble(seen.records_of(host)))
    every = seen.pace.lookup
    return Call(f"{seen.exposure.key}/lookup {host}", action, every=every, shelf_life=4 * every)


def hosts(places: Iterable[Place]) -> list[str]:
    return list(dict.fromkeys(place.host for place in places if place.named))


def names(seen: Published, places: list[Place]) -> Names:
    failed: dict[str, str] = {}
    waiting: set[str] = set()
    standing = published(seen)
    for host in hosts(places):
        record = _record_trouble(seen.records_of(host))
        if not seen.resolves:
            if record:
                failed[host] = record
            continue
        answer = seen.results.to(lookup(seen, host))
        if refused := _record_trouble(seen.records_of(host), said=FALSE):
            failed[host] = refused
        elif isinstance(answer, Failed):
            failed[host] = f"{answer.message}; {record}" if record else answer.message
        elif not isinstance(answer, Fresh):
            waiting.add(host)
    stand = {place.host for place in places if place.entry.url in standing}
    fresh_start = {host for host in waiting & stand if isinstance(seen.results.to(lookup(seen, host)), NotYet)}
    lost = frozenset(place.entry.url for place in places if place.named and place.host in failed)
    return Names(failed, frozenset(waiting - fresh_start), asked=seen.resolves, lost=lost)


def published(seen: Published) -> set[str]:
    status = seen.exposure.status
    return {one.url for one in (status.exposures if status else None) or ()}


def _record_trouble(records: Iterable[DNSEndpoint], said: str = "") -> str:
    """What the DNSEndpoints that have a name say against it; empty without one, and when it is ready.

    With `said`, only its conditions of this status.
    """
    for record in records:
        status, where = record.status, f"DNSEndpoint {record.metadata.name}"
        if status is None or status.observed_generation != record.metadata.generation:
            if said:
                continue
            return f"{where} was not looked at yet"
        bad = [one for one in status.conditions if one.type == "Ready" and one.status in ((said,) if said else OTHERS)]
        if bad:
            return f"{where}: {bad[0].message or bad[0].reason}"
    return ""
