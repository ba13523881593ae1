"""BoundEndpoint → its upstream Service and its probe. No client, no clock: the same facts give the same result."""

from __future__ import annotations

from seamark.families.bindings.boundendpoint.services import probe_address, upstream_service
from seamark.families.bindings.boundendpoint.state import (
    CONNECTIVITY_VERIFIED,
    READY,
    SERVICES_CREATED,
    UPSTREAM,
    Probe,
    Seen,
    Verified,
)
from seamark.families.bindings.model.entries import NAMESPACE_NOT_ALLOWED
from seamark.families.bindings.model.installation import Installed
from seamark.families.bindings.model.ownership import FINALIZER
from seamark_edge.api.bindings import BoundEndpointStatus, NamespacedRef, ObjectRef
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers, Refusal
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, NotYet, Stale

VERIFIED = "Successfully connected to upstream service"
NOT_VERIFIED = "Connectivity not yet verified"
NOT_CONFIRMED = "The edge takes connections, and does not report whether the far upstream accepts them"
PROBES = Rate("probes of BoundEndpoints", 60.0)


def desire(seen: Seen) -> Wanted:
    if seen.endpoint.deleting:
        return Wanted(finalizer=seen.target_left)
    if seen.group is None:  # it has just changed its group: existing Services stay
        return Wanted(children={UPSTREAM: seen.upstream} if seen.upstream else {}, finalizer=holds(seen))
    if not serves(seen):
        return Wanted(finalizer=holds(seen))
    call = probe(seen)
    return Wanted(
        children={UPSTREAM: upstream_service(seen.endpoint, seen.group, seen.options)},
        calls=(call,) if call is not None else (),
        finalizer=holds(seen),
    )


def serves(seen: Seen) -> bool:
    """False where it gets no Service and no probe: another one has its port, or its namespace is not allowed."""
    return seen.group is None or (bool(seen.group.ports) and seen.port_held_by is None)


def holds(seen: Seen) -> bool:
    """Whether the object has our finalizer. After an uninstall nothing would remove it."""
    match seen.installed:
        case Installed.PRESENT:
            return True
        case Installed.RETAINING:
            return False
        case Installed.DELETING if not seen.projected:
            return False
        case _:
            return FINALIZER in (seen.endpoint.metadata.finalizers or ())


def judge(seen: Seen, answers: Answers) -> BoundEndpointStatus:
    services = services_created(seen, answers)
    connectivity = connectivity_verified(seen)
    ready = READY.worst_of(services, connectivity, otherwise=("BoundEndpointReady", "BoundEndpoint is ready"))
    if seen.endpoint.deleting and seen.endpoint.status is not None:
        status = seen.endpoint.status  # its references stay until it is deleted
        return BoundEndpointStatus(
            conditions=(services, connectivity, ready),
            upstream_service_ref=status.upstream_service_ref,
            target_service_ref=status.target_service_ref,
        )
    upstream: Service | None = answers.child(UPSTREAM)
    target = seen.group.target if seen.group is not None else None
    return BoundEndpointStatus(
        conditions=(services, connectivity, ready),
        upstream_service_ref=ObjectRef(name=upstream.metadata.name) if upstream is not None else None,
        target_service_ref=NamespacedRef(name=target.name, namespace=target.namespace) if target is not None else None,
    )


def services_created(seen: Seen, answers: Answers) -> Condition:  # noqa: PLR0911  # one row for each outcome
    group = seen.group
    if seen.endpoint.deleting:
        return SERVICES_CREATED.not_yet("ServicesNotCreated", removing(seen, answers))
    if seen.port_held_by is not None:
        message = f"port {seen.endpoint.spec.port} of the forwarders belongs to BoundEndpoint {seen.port_held_by.name}"
        return SERVICES_CREATED.false("PortConflict", message)
    if refusal := answers.refusal(UPSTREAM):
        message = hinted(seen, refusal, seen.options.namespace)
        return SERVICES_CREATED.false("UpstreamServiceCreationFailed", message)
    if group is not None and group.conflict:
        return SERVICES_CREATED.false("TargetServiceConflict", group.conflict)
    if group is not None and group.refusal is not None:
        return target_refused(seen, group.refusal)
    if group is None or group.target is None or answers.ref(UPSTREAM) is None:
        return SERVICES_CREATED.not_yet("ServicesNotCreated", "Services not yet created")  # no response is no evidence
    return SERVICES_CREATED.true("ServicesCreated", "Target and Upstream services created")


def removing(seen: Seen, answers: Answers) -> str:
    """While it is being deleted: which Services still exist, with the error of the API server."""
    kept = [refusal.message for refusal in answers.undeleted]
    kept += [seen.group.undeleted] if seen.group is not None and seen.group.undeleted else []
    return "; ".join(("The Services are being removed", *dict.fromkeys(kept)))


def target_refused(seen: Seen, refusal: Refusal) -> Condition:
    if refusal.reason == NAMESPACE_NOT_ALLOWED:
        return SERVICES_CREATED.false(NAMESPACE_NOT_ALLOWED, refusal.message)
    if refusal.taken:
        return SERVICES_CREATED.false("TargetServiceConflict", refusal.message)
    message = hinted(seen, refusal, seen.endpoint.spec.target.namespace)
    return SERVICES_CREATED.false("TargetServiceCreationFailed", message)


def hinted(seen: Seen, refusal: Refusal, namespace: str) -> str:
    """The API server's error, and the missing right if an access review confirms it."""
    if namespace not in seen.forbidden:
        return refusal.message
    hint = f"the operator's account may not create Services in namespace {namespace}: a Role there must allow it"
    return f"{refusal.message} ({hint})"


def connectivity_verified(seen: Seen) -> Condition:  # noqa: PLR0911  # one row for each outcome
    call = probe(seen)
    if seen.gone and not seen.endpoint.deleting:
        message = f"The edge lists no endpoint for {seen.endpoint.spec.endpoint_url} since {seen.gone}"
        return CONNECTIVITY_VERIFIED.false("EndpointGone", message)
    if not seen.endpoint.deleting and not serves(seen):
        return CONNECTIVITY_VERIFIED.unknown("ConnectivityNotVerified", NOT_VERIFIED)
    if call is None or seen.endpoint.deleting:
        return CONNECTIVITY_VERIFIED.not_yet("ConnectivityNotVerified", NOT_VERIFIED)
    match seen.results.to(call):
        case Fresh(value=Verified(confirmed=False)):
            return CONNECTIVITY_VERIFIED.unknown("UpstreamNotConfirmed", NOT_CONFIRMED)
        case Fresh():
            return CONNECTIVITY_VERIFIED.true("ConnectivityVerified", VERIFIED)
        case Failed(message=message):
            return CONNECTIVITY_VERIFIED.false("ConnectivityFailed", message)
        case Stale(value=verified):
            message = f"Connectivity was not verified since {verified.at}"
            return CONNECTIVITY_VERIFIED.unknown("ConnectivityNotVerified", message)
        case NotYet():
            return CONNECTIVITY_VERIFIED.not_yet("ConnectivityNotVerified", NOT_VERIFIED)


def probe(seen: Seen) -> Call[Verified] | None:
    """A connection to the address that the API server gave our own Service, and to no other.

    None while it has none, and while there is no endpoint to be reached.
    """
    if seen.gone or seen.upstream is None or not (address := probe_address(seen.upstream, seen.endpoint)):
        return None
    endpoint = seen.endpoint
    return Call(
        target=f"probe {endpoint.key}",
        action=Probe(endpoint.key, address, endpoint.spec.target.port, endpoint.spec.port),
        every=seen.options.probe_every,
        shelf_life=seen.options.shelf_life,
        rate=PROBES,
        timeout=2 * seen.options.probe_limit,
        slowest=seen.options.shelf_life,
    )
