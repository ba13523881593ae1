"""A projection → its BoundEndpoint, and the endpoints in its status. Pure.

Each projection has a key of its own, so that one that is refused, or can't be read, affects no other.
"""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.bindings.model.entries import Projection
from seamark.families.bindings.model.ownership import FINALIZER
from seamark.families.bindings.model.targets import BadTarget, Target, parse, target_of
from seamark.families.bindings.projection.state import BOUND, Endpoints, Seen, SeenEndpoints
from seamark_edge.api.bindings import BindingTarget, BoundEndpoint, BoundEndpointSpec
from seamark_runtime.api.meta import Key, ManagedMeta
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: Seen) -> Wanted:
    if seen.projection is None or (seen.projection.gone and (seen.existing is None or seen.existing.deleting)):
        return Wanted()  # what was deleted by hand does not come back for the rest of the grace period
    return Wanted(children={BOUND: bound_endpoint(seen.key, seen.projection, seen.existing)})


def report(seen: Seen, answers: Answers) -> Mapping[Key, str]:
    refusal = answers.refusal(BOUND)
    if refusal is None or refusal.reason == "Terminating" or seen.projection is None:
        return {}
    return {seen.installation: f"{seen.projection.target.url} is not bound: {refusal.message}"}


def bound_endpoint(key: Key, projection: Projection, existing: BoundEndpoint | None) -> BoundEndpoint:
    """Created with our finalizer: it must be there before the first Service is."""
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


# ---- the endpoints in the status of a BoundEndpoint


def desire_endpoints(_seen: SeenEndpoints) -> Wanted:
    return Wanted()


def judge_endpoints(seen: SeenEndpoints, _answers: Answers) -> Endpoints:
    return Endpoints(
        endpoints=seen.listed,
        endpoints_summary=summary(len(seen.listed)),
        hashed_name=target_of(seen.endpoint.spec).name,
    )


def summary(count: int) -> str:
    return "1 endpoint" if count == 1 else f"{count} endpoints"
