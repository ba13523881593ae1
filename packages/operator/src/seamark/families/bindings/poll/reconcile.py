"""What the edge lists → projections: one for each target, with a port of its own. Pure.

Nothing is concluded from a missing list: while the edge has not answered, existing BoundEndpoints stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seamark.families.bindings.model.endpoints import by_age
from seamark.families.bindings.model.entries import Listing, PollReport, Projection
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.targets import BadTarget, Target, parse, target_of
from seamark.families.bindings.poll.ports import Ports
from seamark.families.bindings.poll.state import Assignment, Gone, Listed, Seen, Targets
from seamark_edge.api.bindings import BindingEndpoint, BoundEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def by_target(listing: Listing) -> Targets:
    """Endpoints by target, and a message about each that has none."""
    targets: dict[Target, list[BindingEndpoint]] = {}
    problems = []
    for bound in sorted(listing.endpoints, key=lambda endpoint: endpoint.id):
        try:
            target = parse(bound.url)
        except BadTarget as error:
            problems.append(f"endpoint {bound.id} is left out: {error}")
            continue
        targets.setdefault(target, []).append(BindingEndpoint(id=bound.id, uri=bound.uri))
    return Targets({target: tuple(targets[target]) for target in sorted(targets)}, tuple(problems))


def holders(endpoints: Iterable[BoundEndpoint]) -> tuple[dict[str, int], dict[int, str]]:
    """Ports by object, and of each port its oldest holder. What is being deleted still serves."""
    held: dict[str, int] = {}
    busy: dict[int, str] = {}
    for endpoint in by_age(endpoints):
        held[endpoint.metadata.name] = endpoint.spec.port
        busy.setdefault(endpoint.spec.port, endpoint.metadata.name)
    return held, busy


def targets_of(before: Assignment | None, listing: Listing) -> Targets:
    """A list that did not change is not parsed again."""
    return before.targets if before is not None and before.listing is listing else by_target(listing)


def gone_of(
    before: Assignment | None, targets: Targets, projected: Iterable[BoundEndpoint], now: Gone, grace: float
) -> Mapping[Target, Gone]:
    """Targets of existing objects that the edge lists no endpoints of, for less than the grace period.

    The period begins with a list of the edge, and ends with one that was requested when it was over: while the edge
    does not answer, nothing is known to be gone.
    """
    known = before.gone if before is not None else {}
    found = {}
    for endpoint in projected:
        target = target_of(endpoint.spec)
        if target in targets.endpoints or target.name != endpoint.metadata.name:
            continue
        gone = known.get(target, now)
        if now.since - gone.since < grace:
            found[target] = gone
    return found


def assign(
    before: Assignment | None, listed: Listed, existing: Iterable[BoundEndpoint], options: Options, now: float
) -> Assignment:
    """The next assignment."""
    ports = before.ports if before is not None else Ports(options.first_port, options.last_port)
    held, busy = holders(existing)
    names = [target.name for target in (*listed.targets.endpoints, *listed.gone)]
    return Assignment(listed.listing, listed.targets, ports.assign(names, held, busy, now), listed.gone)


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def report(seen: Seen, _answers: Answers) -> Mapping[Key, Projection]:
    if seen.targets is None:
        return {}
    namespace = seen.installation.namespace
    gone = {
        Key(namespace, target.name): Projection(target, port, (), gone.at)
        for target, gone in seen.gone.items()
        if (port := seen.ports[target.name]) is not None
    }
    listed = {
        Key(namespace, target.name): Projection(target, port, endpoints)
        for target, endpoints in seen.targets.endpoints.items()
        if (port := seen.ports[target.name]) is not None
    }
    return {**gone, **listed}


def report_poll(seen: Seen, _answers: Answers) -> Mapping[Key, PollReport]:
    if seen.targets is None:
        return {seen.installation: PollReport(known=False)}
    full = tuple(
        f"{target.url} is left out: no port of the forwarders is free"
        for target in seen.targets.endpoints
        if seen.ports[target.name] is None
    )
    return {seen.installation: PollReport(known=True, problems=(*seen.targets.problems, *full))}
