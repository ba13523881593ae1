"""BoundEndpoint → its upstream Service and its probe. No client, no clock: the same facts give the same wants."""

from __future__ import annotations

from seamark.families.bindings.groups import NOT_ALLOWED
from seamark.families.bindings.services import leads_to, upstream_service
from seamark.families.bindings.state import (
    CONNECTIVITY_VERIFIED,
    FINALIZER,
    READY,
    SERVICES_CREATED,
    UPSTREAM,
    Installed,
    Probe,
    Seen,
)
from seamark_edge.api.bindings import BoundEndpointStatus, NamespacedRef, ObjectRef
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers, Refusal
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, NotYet, Stale

VERIFIED = "Successfully connected to upstream service"
NOT_VERIFIED = "Connectivity not yet verified"


def desire(seen: Seen) -> Wanted:
    if seen.endpoint.deleting:
        return Wanted(finalizer=seen.target_left)
    if seen.group is None:  # it is just changing groups: what stands is let alone
        return Wanted(children={UPSTREAM: seen.upstream} if seen.upstream else {}, finalizer=holds(seen))
    if not serves(seen):
        return Wanted(finalizer=holds(seen))
    call = probe(seen)
    return Wanted(
        children={UPSTREAM: upstream_service(seen.endpoint, seen.group, seen.settings)},
        calls=(call,) if call is not None else (),
        finalizer=holds(seen),
    )


def serves(seen: Seen) -> bool:
    """False where it has no Service and no probe to come: its port is another's, or its namespace is not allowed."""
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
        stands = seen.endpoint.status  # it is being deleted: no condition is written for a moment
        return BoundEndpointStatus(
            conditions=(services, connectivity, ready),
            upstream_service_ref=stands.upstream_service_ref,
            target_service_ref=stands.target_service_ref,
        )
    upstream: Service | None = answers.child(UPSTREAM)
    target = seen.group.target if seen.group is not None else None
    return BoundEndpointStatus(
        conditions=(services, connectivity, ready),
        upstream_service_ref=ObjectRef(name=upstream.metadata.name) if upstream is not None else None,
        target_service_ref=NamespacedRef(name=target.name, namespace=target.namespace) if target is not None else None,
    )


def services_created(seen: Seen, answers: Answers) -> Condition:  # noqa: PLR0911  one row for each thing to say
    group = seen.group
    if seen.endpoint.deleting:
        return SERVICES_CREATED.not_yet("ServicesNotCreated", removing(seen, answers))
    if seen.port_held_by is not None:
        words = f"port {seen.endpoint.spec.port} of the forwarders belongs to BoundEndpoint {seen.port_held_by.name}"
        return SERVICES_CREATED.false("PortConflict", words)
    if refusal := answers.refusal(UPSTREAM):
        words = hinted(seen, refusal, seen.settings.namespace)
        return SERVICES_CREATED.false("UpstreamServiceCreationFailed", words)
    if group is not None and group.conflict:
        return SERVICES_CREATED.false("TargetServiceConflict", group.conflict)
    if group is not None and group.refusal is not None:
        return target_refused(seen, group.refusal)
    if group is None or group.target is None or answers.ref(UPSTREAM) is None:
        return SERVICES_CREATED.not_yet("ServicesNotCreated", "Services not yet created")  # no answer is no evidence
    return SERVICES_CREATED.true("ServicesCreated", "Target and Upstream services created")


def removing(seen: Seen, answers: Answers) -> str:
    """While it goes: what is still there, and in whose words."""
    kept = [refusal.message for refusal in answers.undeleted]
    kept += [seen.group.undeleted] if seen.group is not None and seen.group.undeleted else []
    return "; ".join(("The Services are being removed", *dict.fromkeys(kept)))


def target_refused(seen: Seen, refusal: Refusal) -> Condition:
    if refusal.reason == NOT_ALLOWED:
        return SERVICES_CREATED.false(NOT_ALLOWED, refusal.message)
    if refusal.taken:
        return SERVICES_CREATED.false("TargetServiceConflict", refusal.message)
    words = hinted(seen, refusal, seen.endpoint.spec.target.namespace)
    return SERVICES_CREATED.false("TargetServiceCreationFailed", words)


def hinted(seen: Seen, refusal: Refusal, namespace: str) -> str:
    """The API server's error, and the missing right if an access review confirms it."""
    if namespace not in seen.forbidden:
        return refusal.message
    hint = f"the operator's account may not create Services in namespace {namespace}: a Role there must allow it"
    return f"{refusal.message} ({hint})"


def connectivity_verified(seen: Seen) -> Condition:
    call = probe(seen)
    if not seen.endpoint.deleting and not serves(seen):
        return CONNECTIVITY_VERIFIED.unknown("ConnectivityNotVerified", NOT_VERIFIED)
    if call is None or seen.endpoint.deleting:
        return CONNECTIVITY_VERIFIED.not_yet("ConnectivityNotVerified", NOT_VERIFIED)
    match seen.results.to(call):
        case Fresh():
            return CONNECTIVITY_VERIFIED.true("ConnectivityVerified", VERIFIED)
        case Failed(message=message):
            return CONNECTIVITY_VERIFIED.false("ConnectivityFailed", message)
        case Stale():
            since = f" since {seen.last_verified}" if seen.last_verified else " for a while"
            return CONNECTIVITY_VERIFIED.unknown("ConnectivityNotVerified", f"Connectivity was not verified{since}")
        case NotYet():
            return CONNECTIVITY_VERIFIED.not_yet("ConnectivityNotVerified", NOT_VERIFIED)


def probe(seen: Seen) -> Call[None] | None:
    """A connection to the address that the API server gave our own Service, and to no other; None while it has none."""
    if seen.upstream is None or not (address := leads_to(seen.upstream, seen.endpoint)):
        return None
    endpoint = seen.endpoint
    return Call(
        target=f"probe {endpoint.key}",
        action=Probe(endpoint.key, address, endpoint.spec.target.port, endpoint.spec.port),
        every=seen.settings.probe_every,
        shelf_life=seen.settings.shelf_life,
        timeout=2 * seen.settings.probe_limit,
    )
