"""What the edge lists → projections: one for each target, with a port of its own. Pure.

Nothing is concluded from a missing list: while the edge has not answered, existing BoundEndpoints stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seamark.families.bindings.model.endpoints import by_age
from seamark.families.bindings.model.entries import Listing, PollReport, Projection
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.targets import BadTarget, Target, parse
from seamark.families.bindings.poll.ports import Ports
from seamark.families.bindings.poll.state import Assignment, Seen, Targets
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


def assign(
    before: Assignment | None, listing: Listing, existing: Iterable[BoundEndpoint], options: Options, now: float
) -> Assignment:
    """The next assignment. A list that did not change is not parsed again."""
    unchanged = before is not None and before.listing is listing
    targets = before.targets if before is not None and unchanged else by_target(listing)
    ports = before.ports if before is not None else Ports(options.first_port, options.last_port)
    held, busy = holders(existing)
    return Assignment(listing, targets, ports.assign((target.name for target in targets.endpoints), held, busy, now))


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def report(seen: Seen, _answers: Answers) -> Mapping[Key, Projection]:
    if seen.targets is None:
        return {}
    return {
        Key(seen.installation.namespace, target.name): Projection(target, port, endpoints)
        for target, endpoints in seen.targets.endpoints.items()
        if (port := seen.ports[target.name]) is not None
    }


def report_poll(seen: Seen, _answers: Answers) -> Mapping[Key, PollReport]:
    if seen.targets is None:
        return {seen.installation: PollReport(known=False)}
    full = tuple(
        f"{target.url} is left out: no port of the forwarders is free"
        for target in seen.targets.endpoints
        if seen.ports[target.name] is None
    )
    return {seen.installation: PollReport(known=True, problems=(*seen.targets.problems, *full))}
