"""From what the edge lists to BoundEndpoints: one for each target, with a port of its own. Pure.

- An installation's key turns the list into projections; each projection has a key of its own, so that one that is
  refused, or can't be read, touches nothing but itself.
- Nothing is concluded from a list that is not there: while the edge has not answered, what stands is let alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from seamark.families.bindings.groups import by_age
from seamark.families.bindings.state import FINALIZER
from seamark.families.bindings.targets import BadTarget, Target, parse, target_of
from seamark_edge.api.bindings import BindingEndpoint, BindingTarget, BoundEndpoint, BoundEndpointSpec
from seamark_edge.model import Bound
from seamark_runtime.api.meta import Condition, Key, ManagedMeta, Wire
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted

BOUND = "bound endpoint"


@dataclass(frozen=True)
class Listing:
    """What the edge last reported as bound here."""

    endpoints: tuple[Bound, ...]


@dataclass(frozen=True)
class Projection:
    """A target, its forwarders' port, and the endpoints that share it."""

    target: Target
    port: int
    endpoints: tuple[BindingEndpoint, ...]


@dataclass(frozen=True)
class Polled:
    """What the poll says about the installation itself."""

    known: bool  # whether there is a list to go by
    problems: tuple[str, ...] = ()


Plan = Projection | Polled


def about(installation: Key) -> Hashable:
    """The subject under which the poll speaks of the installation itself."""
    return ("installation", installation)


# ---- the installation's key: list → projections


@dataclass(frozen=True)
class SeenPoll:
    installation: Key
    targets: Mapping[Target, tuple[BindingEndpoint, ...]] | None  # None: there is no list to go by
    ports: Mapping[str, int | None]
    problems: tuple[str, ...] = ()


Grouped = tuple[dict[Target, tuple[BindingEndpoint, ...]], tuple[str, ...]]


def grouped(listing: Listing) -> Grouped:
    """Endpoints by target, and in words those that are none."""
    targets: dict[Target, list[BindingEndpoint]] = {}
    problems = []
    for bound in sorted(listing.endpoints, key=lambda one: one.id):
        try:
            target = parse(bound.url)
        except BadTarget as error:
            problems.append(f"endpoint {bound.id} is left out: {error}")
            continue
        targets.setdefault(target, []).append(BindingEndpoint(id=bound.id, uri=bound.uri))
    return {target: tuple(targets[target]) for target in sorted(targets)}, tuple(problems)


def holders(endpoints: Iterable[BoundEndpoint]) -> tuple[dict[str, int], dict[int, str]]:
    """Ports by object, and of each port its oldest holder. What is going still serves."""
    held: dict[str, int] = {}
    busy: dict[int, str] = {}
    for endpoint in by_age(endpoints):
        held[endpoint.metadata.name] = endpoint.spec.port
        busy.setdefault(endpoint.spec.port, endpoint.metadata.name)
    return held, busy


def report_poll(seen: SeenPoll, _answers: Answers) -> Mapping[Hashable, Plan]:
    if seen.targets is None:
        return {about(seen.installation): Polled(known=False)}
    plans: dict[Hashable, Plan] = {}
    full = []
    for target, endpoints in seen.targets.items():
        port = seen.ports[target.name]
        if port is None:
            full.append(f"{target.url} is left out: no port of the forwarders is free")
        else:
            plans[Key(seen.installation.namespace, target.name)] = Projection(target, port, endpoints)
    plans[about(seen.installation)] = Polled(known=True, problems=(*seen.problems, *full))
    return plans


# ---- a projection's key: its BoundEndpoint


@dataclass(frozen=True)
class SeenProjection:
    key: Key
    installation: Key
    projection: Projection | None  # None: the edge binds nothing there any more
    existing: BoundEndpoint | None


def desire(seen: SeenProjection) -> Wanted:
    if seen.projection is None:
        return Wanted()
    return Wanted(children={BOUND: bound_endpoint(seen.key, seen.projection, seen.existing)})


def report(seen: SeenProjection, answers: Answers) -> Mapping[Hashable, str]:
    refusal = answers.refusal(BOUND)
    if refusal is None or refusal.reason == "Terminating" or seen.projection is None:
        return {}
    return {seen.installation: f"{seen.projection.target.url} is not bound: {refusal.message}"}


def bound_endpoint(key: Key, projection: Projection, existing: BoundEndpoint | None) -> BoundEndpoint:
    """Made with our finalizer in place: it is to be there before the first Service is."""
    target = projection.target
    same = existing is not None and target_of(existing.spec) == target and _same_url(existing, target)
    return BoundEndpoint(
        metadata=ManagedMeta(name=key.name, namespace=key.namespace, finalizers=(FINALIZER,)),
        spec=BoundEndpointSpec(
            endpoint_url=existing.spec.endpoint_url if existing is not None and same else target.url,
            scheme=target.scheme,
            port=projection.port,
            target=BindingTarget(service=target.service, namespace=target.namespace, port=target.port),
        ),
    )


def _same_url(existing: BoundEndpoint, target: Target) -> bool:
    """Whether an object's URL, in any spelling, means this target."""
    url = existing.spec.endpoint_url
    try:
        return parse(url if "://" in url else f"{existing.spec.scheme}://{url}") == target
    except BadTarget:
        return False


# ---- the poller's part of a BoundEndpoint's status


class Endpoints(Wire, frozen=True, kw_only=True):
    """The fields of the status that are the poller's, and no others."""

    endpoints: tuple[BindingEndpoint, ...] | None = None
    hashed_name: str = ""
    endpoints_summary: str = ""
    conditions: tuple[Condition, ...] = ()


def say(seen: tuple[BoundEndpoint, tuple[BindingEndpoint, ...]], _answers: Answers) -> Endpoints:
    endpoint, found = seen
    return Endpoints(endpoints=found, endpoints_summary=summary(len(found)), hashed_name=target_of(endpoint.spec).name)


def summary(count: int) -> str:
    return "1 endpoint" if count == 1 else f"{count} endpoints"
