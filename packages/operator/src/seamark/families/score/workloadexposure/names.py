"""Which host names resolve in DNS. Without that, no client can use them.

- A name is looked up where the runtime can do that; what a DNSEndpoint says of it explains a failure. Where nothing
  is looked up, the status of the DNSEndpoint decides. A record of the Workload's own namespace that is refused is a
  failure, whatever else answers to the name.
- A name inside the cluster is none for a client outside: its URL is not published, and withdrawn if it was.
- A published URL is not withdrawn when its name does not resolve for a moment: it is reported as not reachable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seamark.api.dns import DNSEndpoint
from seamark.families.score.workloadexposure.places import Place
from seamark.families.score.workloadexposure.state import Lookup, Seen
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call, Failed
from seamark_runtime.conditions import FALSE, UNKNOWN
from seamark_runtime.source import Fresh, NotYet
from seamark_runtime.upstreams import CLUSTER_DOMAIN

OTHERS = (FALSE, UNKNOWN)
INTERNAL = "a name inside the cluster leads to a Service there, not to a Gateway; give the route another host name"
LOOKUPS = Rate("lookups of exposures", 60.0)


@dataclass(frozen=True)
class Names:
    """By host: why it does not resolve (`failed`), or that this is not known yet (`waiting`)."""

    failed: Mapping[str, str] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    looked_up: bool = False  # whether they were looked up
    lost: frozenset[str] = frozenset()  # URLs that are published, and whose name has no answer now


def lookup(seen: Seen, host: str) -> Call[bool]:
    action = Lookup(host, _record_trouble(seen.records_of(host)))
    every = seen.pace.lookup
    return Call(f"{seen.exposure.key}/lookup {host}", action, every=every, shelf_life=4 * every, rate=LOOKUPS)


def hosts(places: Iterable[Place]) -> list[str]:
    """Those to look up. A name inside the cluster leads to a Service there, whatever its answer is."""
    return list(dict.fromkeys(place.host for place in places if place.named and not internal(place.host)))


def internal(host: str) -> bool:
    return host.rstrip(".").endswith((f".{CLUSTER_DOMAIN}", ".svc"))


def names(seen: Seen, places: list[Place]) -> Names:
    failed: dict[str, str] = {}
    waiting: set[str] = set()
    standing = published(seen)
    for host in dict.fromkeys(place.host for place in places if place.named and internal(place.host)):
        failed[host] = INTERNAL
    for host in hosts(places):
        record = _record_trouble(seen.records_of(host))
        if not seen.resolves:
            if record:
                failed[host] = record
            continue
        answer = seen.results.to(lookup(seen, host))
        if refused := _record_trouble(seen.records_of(host), condition_status=FALSE):
            failed[host] = refused
        elif isinstance(answer, Failed):
            failed[host] = f"{answer.message}; {record}" if record else answer.message
        elif not isinstance(answer, Fresh):
            waiting.add(host)
    stand = {place.host for place in places if place.entry.url in standing}
    fresh_start = {host for host in waiting & stand if isinstance(seen.results.to(lookup(seen, host)), NotYet)}
    lost = frozenset(place.entry.url for place in places if place.named and place.host in failed)
    return Names(failed, frozenset(waiting - fresh_start), looked_up=seen.resolves, lost=lost)


def published(seen: Seen) -> set[str]:
    status = seen.exposure.status
    return {entry.url for entry in (status.exposures if status else None) or ()}


def _record_trouble(records: Iterable[DNSEndpoint], condition_status: str = "") -> str:
    """What the DNSEndpoints that have a name say against it; empty without one, and when it is ready.

    With `condition_status`, only its conditions of this status.
    """
    statuses = (condition_status,) if condition_status else OTHERS
    for record in records:
        status, where = record.status, f"DNSEndpoint {record.metadata.name}"
        if status is None or status.observed_generation != record.metadata.generation:
            if condition_status:
                continue
            return f"{where} was not looked at yet"
        ready = (condition for condition in status.conditions if condition.type == "Ready")
        bad = [condition for condition in ready if condition.status in statuses]
        if bad:
            return f"{where}: {bad[0].message or bad[0].reason}"
    return ""
