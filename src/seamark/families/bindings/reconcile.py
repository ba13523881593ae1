"""BoundEndpoint → its upstream Service and its probe. No client, no clock: the same facts give the same wants."""

from __future__ import annotations

from seamark.api.bindings import BoundEndpointStatus, NamespacedRef, ObjectRef
from seamark.api.core import Service
from seamark.api.meta import Condition
from seamark.core.apply import Answers
from seamark.core.calls import Call, Failed
from seamark.core.controller import Wanted
from seamark.core.source import Fresh, NotYet, Stale
from seamark.families.bindings.services import upstream_host, upstream_service
from seamark.families.bindings.state import (
    CONNECTIVITY_VERIFIED,
    READY,
    SERVICES_CREATED,
    UPSTREAM,
    Probe,
    Seen,
)

NOT_ALLOWED = "NamespaceNotAllowed"


def desire(seen: Seen) -> Wanted:
    if seen.endpoint.deleting or seen.group is None or not seen.group.ports:
        return Wanted()
    return Wanted(
        children={UPSTREAM: upstream_service(seen.endpoint, seen.group, seen.settings)},
        calls=(probe(seen),),
        finalizer=True,
    )


def judge(seen: Seen, answers: Answers) -> BoundEndpointStatus:
    services = services_created(seen, answers)
    connectivity = connectivity_verified(seen)
    ready = READY.worst_of(services, connectivity, otherwise=("BoundEndpointReady", "BoundEndpoint is ready"))
    upstream: Service | None = answers.child(UPSTREAM)
    target = seen.group.target if seen.group is not None else None
    return BoundEndpointStatus(
        conditions=(services, connectivity, ready),
        upstream_service_ref=ObjectRef(name=upstream.metadata.name) if upstream is not None else None,
        target_service_ref=NamespacedRef(name=target.name, namespace=target.namespace) if target is not None else None,
    )


def services_created(seen: Seen, answers: Answers) -> Condition:
    group = seen.group
    if refusal := answers.refusal(UPSTREAM):
        return SERVICES_CREATED.false("UpstreamServiceCreationFailed", refusal.message)
    if group is not None and group.conflict:
        return SERVICES_CREATED.false("TargetServiceConflict", group.conflict)
    if group is not None and group.refusal is not None:
        reason = "TargetServiceConflict" if group.refusal.taken else "TargetServiceCreationFailed"
        allowed = group.refusal.reason != NOT_ALLOWED
        return SERVICES_CREATED.false(reason if allowed else NOT_ALLOWED, group.refusal.message)
    if group is None or group.target is None or answers.ref(UPSTREAM) is None:
        return SERVICES_CREATED.not_yet("ServicesNotCreated", "Services not yet created")  # no answer is no evidence
    return SERVICES_CREATED.true("ServicesCreated", "Target and Upstream services created")


def connectivity_verified(seen: Seen) -> Condition:
    match seen.results.to(probe(seen)):
        case Fresh():
            return CONNECTIVITY_VERIFIED.true("ConnectivityVerified", "Successfully connected to upstream service")
        case Failed(message=message):
            return CONNECTIVITY_VERIFIED.false("ConnectivityFailed", message)
        case Stale():
            return CONNECTIVITY_VERIFIED.unknown("ConnectivityNotVerified", "Connectivity was not verified for a while")
        case NotYet():
            return CONNECTIVITY_VERIFIED.not_yet("ConnectivityNotVerified", "Connectivity not yet verified")


def probe(seen: Seen) -> Call[None]:
    host = upstream_host(seen.endpoint, seen.settings)
    port = seen.endpoint.spec.target.port
    return Call(
        target=f"probe {host}:{port}",
        action=Probe(host, port),
        every=seen.settings.probe_every,
        shelf_life=seen.settings.shelf_life,
        timeout=10.0,
    )
