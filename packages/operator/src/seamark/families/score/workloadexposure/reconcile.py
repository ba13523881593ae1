"""What was rendered → what the runtime says: where it is reached, and whether it is well. No client, no clock."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from seamark.api.score import Exposure, WorkloadExposureStatus
from seamark.families.score.workloadexposure.connections import dials
from seamark.families.score.workloadexposure.health import conditions, replicas
from seamark.families.score.workloadexposure.names import Names, hosts, internal, lookup, names, published
from seamark.families.score.workloadexposure.places import Place, places
from seamark.families.score.workloadexposure.state import Probe, Seen
from seamark_runtime.apply import Answers
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, NotYet

PROBES = Rate("probes of exposures", 60.0)


def desire(seen: Seen) -> Wanted:
    found = places(seen)
    lookups = [lookup(seen, host) for host in hosts(found)] if seen.resolves else []
    shown = open_ways(seen, found, names(seen, found))
    probes = (call for place in shown if (call := probe(seen, place)) is not None)
    return Wanted(calls=(*lookups, *probes, *dials(seen)))


def judge(seen: Seen, _answers: Answers) -> WorkloadExposureStatus:
    found = places(seen)
    known = names(seen, found)
    exposures = tuple(exposed(seen, place, known) for place in open_ways(seen, found, known))
    generation = seen.exposure.spec.observed_workload_generation
    reported = conditions(seen, exposures, known)
    return WorkloadExposureStatus(exposures=exposures, conditions=reported, observed_workload_generation=generation)


def open_ways(seen: Seen, found: list[Place], known: Names) -> Iterator[Place]:
    """Those whose names have an answer, and those that are published already."""
    standing = published(seen)
    for place in found:
        if place.named and internal(place.host):
            continue
        unanswered = place.named and (place.host in known.failed or place.host in known.waiting)
        if not unanswered or place.entry.url in standing:
            yield place


def probe(seen: Seen, place: Place) -> Call[bool] | None:
    """The attempt that tells whether a place answers; None where it can't be made from here."""
    local = place.entry.scope == "ClusterLocal"
    if not seen.probes or (local and not seen.inside) or place.entry.scheme_hint == "OTHER":
        return None
    action = Probe(place.host, place.port, place.scheme, place.path, replicas(seen)[0])
    every, target = seen.pace.probe, f"{seen.exposure.key}/{place.entry.url}"
    return Call(target, action, every=every, shelf_life=3 * every, rate=PROBES)


def exposed(seen: Seen, place: Place, known: Names) -> Exposure:
    return msgspec.structs.replace(place.entry, reachable=reachable(seen, place, known))


def reachable(seen: Seen, place: Place, known: Names) -> bool | None:
    """By the last attempt; None where there was none, or none for a while."""
    if place.entry.url in known.lost:
        return False
    call = probe(seen, place)
    if call is None:
        return None
    match seen.results.to(call):
        case Fresh():
            return True
        case Failed():
            return False
        case NotYet():  # after a restart: the status stays until the first attempt has ended
            status = seen.exposure.status
            before = {entry.url: entry.reachable for entry in (status.exposures if status else None) or ()}
            return before.get(place.entry.url)
    return None
