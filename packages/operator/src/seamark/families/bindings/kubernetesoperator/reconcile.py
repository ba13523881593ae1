"""KubernetesOperator: this installation, registered at the edge with a certificate. No client, no clock."""

from __future__ import annotations

from collections.abc import Iterator

from seamark.families.bindings.kubernetesoperator.state import (
    CERTIFIED,
    DRAINING,
    LISTED,
    READY,
    REGISTERED,
    TLS_SECRET,
    Certify,
    Left,
    ListBound,
    Register,
    Registration,
    Seen,
    Signed,
    Unregister,
)
from seamark.families.bindings.model.certificates import CA, CERTIFICATE, KEY, Validity
from seamark.families.bindings.model.installation import retains
from seamark_edge.api.kubernetesoperator import KubernetesOperatorStatus
from seamark_edge.model import OperatorSpec
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Condition, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed
from seamark_runtime.clock import timestamp
from seamark_runtime.conditions import TRUE
from seamark_runtime.controller import Wanted
from seamark_runtime.errors import Refused
from seamark_runtime.events import Notice
from seamark_runtime.source import Fresh, NotYet, Stale


def desire(seen: Seen) -> Wanted:
    if seen.operator.deleting:
        return desire_deleting(seen)
    spec = seen.spec
    if spec is None:
        return Wanted(finalizer=True)
    registered = register(seen, spec)
    calls: list[Call[None] | Call[Registration] | Call[Signed]] = [registered]
    children = {}
    match seen.results.to(registered):
        case Fresh(value=Registration(id=ident)):
            calls.append(list_bound(seen, ident))
            if (signing := certify(seen, spec)) is not None:
                calls.append(signing)
                match seen.results.to(signing):
                    case Fresh(value=Signed() as signed):
                        children[TLS_SECRET] = tls_secret(seen, signed)
    return Wanted(children=children, calls=tuple(calls), finalizer=True)


def desire_deleting(seen: Seen) -> Wanted:
    """First what was made here is removed, then the registration at the edge, then our finalizer."""
    if seen.left:
        return Wanted(finalizer=True)
    leaving = unregister(seen)  # wanted to the end: a failed removal of the finalizer must not repeat the request
    return Wanted(calls=(leaving,), finalizer=not isinstance(seen.results.to(leaving), Fresh))


def register(seen: Seen, spec: OperatorSpec) -> Call[Registration]:
    return Call(f"register {seen.operator.key}", Register(seen.owner, spec, seen.attempt), timeout=60.0)


def list_bound(seen: Seen, ident: str) -> Call[None]:
    every = seen.options.poll
    target = f"list what is bound for {seen.operator.key}"
    return Call(target, ListBound(seen.operator.key, ident), every=every, shelf_life=3 * every + 60, timeout=60.0)


def certify(seen: Seen, spec: OperatorSpec) -> Call[Signed] | None:
    """A new certificate, unless the one in the Secret is good for long enough."""
    found = seen.certificate
    if found is None or found.validity is Validity.GOOD:
        return None
    action = Certify(seen.owner, spec, found.mark, seen.attempt)
    return Call(f"certificate of {seen.operator.key}", action, timeout=60.0)


def unregister(seen: Seen) -> Call[Left | None]:
    return Call(f"unregister {seen.operator.key}", Unregister(seen.owner), timeout=60.0)


def tls_secret(seen: Seen, signed: Signed) -> Secret:
    data = {CERTIFICATE: signed.certificate.encode(), KEY: signed.key.encode()}
    if seen.options.edge_ca:
        data[CA] = seen.options.edge_ca.encode()
    key = seen.secret_key
    return Secret(metadata=ObjectMeta(name=key.name, namespace=key.namespace), type="kubernetes.io/tls", data=data)


def judge(seen: Seen, answers: Answers) -> KubernetesOperatorStatus:
    registered = registered_as(seen)
    ready = ready_as(seen, registered, answers)
    found = registration(seen)
    before = seen.operator.status or KubernetesOperatorStatus()
    total = max(before.drain_total or 0, seen.left) if seen.operator.deleting else None
    binding = seen.operator.spec.binding
    ingress = (binding.ingress_endpoint if binding else "") or (found.ingress if found else "")
    return KubernetesOperatorStatus(
        conditions=(registered, ready, draining_as(seen, total)),
        id=found.id if found else before.id,
        uri=found.uri if found else before.uri,
        enabled_features=",".join(seen.operator.spec.enabled_features),
        bindings_ingress_endpoint=ingress or before.bindings_ingress_endpoint,
        drain_total=total,
        drain_done=None if total is None else total - seen.left,
    )


def registration(seen: Seen) -> Registration | None:
    if seen.spec is None:
        return None
    match seen.results.to(register(seen, seen.spec)):
        case Fresh(value=found) | Stale(value=found):
            return found
        case _:
            return None


def registered_as(seen: Seen) -> Condition:
    if seen.operator.deleting:
        return registered_before(seen)
    if seen.spec is None:
        return REGISTERED.unknown("Pending", "Nothing is to be bound here")
    match seen.results.to(register(seen, seen.spec)):
        case Fresh(value=found) | Stale(value=found):
            return REGISTERED.true("Registered", f"The edge knows this installation as {found.id}")
        case Failed(message=message, error=Refused()):
            return REGISTERED.false("RegistrationFailed", message)
        case Failed(message=message):
            return REGISTERED.false("EdgeUnreachable", message)
        case NotYet():
            return REGISTERED.not_yet("Pending", "Not yet registered")


def registered_before(seen: Seen) -> Condition:
    """While it is deleted, nothing is requested any more: the condition of the registration stays until it is
    removed."""
    conditions = seen.operator.status.conditions if seen.operator.status is not None else ()
    known = any(condition.type == REGISTERED.name and condition.status == TRUE for condition in conditions)
    ident = seen.operator.status.id if seen.operator.status is not None else ""
    if known:
        return REGISTERED.true("Registered", f"The edge knows this installation as {ident}")
    return REGISTERED.unknown("Pending", "Not registered")


def ready_as(seen: Seen, registered: Condition, answers: Answers) -> Condition:
    if seen.operator.deleting:
        return READY.false("Draining", "The installation is being removed")
    if seen.spec is None:
        return READY.false("NotConfigured", "spec.binding is missing, or spec.enabledFeatures does not name bindings")
    parts = (registered, certified_as(seen, seen.spec, answers), listed_as(seen))
    return READY.worst_of(*parts, otherwise=("Ready", "Registered, certified, and the edge lists its endpoints"))


def certified_as(seen: Seen, spec: OperatorSpec, answers: Answers) -> Condition:  # noqa: PLR0911  # one row for each outcome
    if seen.secret_trouble:
        return CERTIFIED.false("CertificateFailed", seen.secret_trouble)
    if refusal := answers.refusal(TLS_SECRET):
        return CERTIFIED.false("CertificateFailed", refusal.message)
    found = seen.certificate
    if found is None:
        return CERTIFIED.not_yet("Pending", "The certificate has not been looked at yet")
    if found.validity in (Validity.GOOD, Validity.DUE) or answers.ref(TLS_SECRET):
        return CERTIFIED.true("Ready")
    signing = certify(seen, spec)
    outcome = seen.results.to(signing) if signing is not None else NotYet()
    trouble = outcome.message if isinstance(outcome, Failed) else ""
    if found.validity is Validity.EXPIRED and found.ends is not None:
        since = f"The certificate expired at {timestamp(found.ends)}"
        return CERTIFIED.false("CertificateExpired", f"{since}: {trouble}" if trouble else since)
    if trouble:
        return CERTIFIED.false("CertificateFailed", trouble)
    return CERTIFIED.not_yet("Pending", "The edge has not signed a certificate yet")


def listed_as(seen: Seen) -> Condition:
    if not seen.reachable:
        return LISTED.unknown("NoEdge", "The edge is in memory: nothing can be reached through it")
    found = registration(seen)
    if found is None:
        return LISTED.not_yet("Pending", "The edge has not been asked for its endpoints yet")
    match seen.results.to(list_bound(seen, found.id)):
        case Fresh():
            return LISTED.true("Ready")
        case Failed(message=message):
            return LISTED.false("EdgeUnreachable", message)
        case Stale():
            return LISTED.unknown("EdgeUnreachable", "The edge has not listed its endpoints for a while")
        case NotYet():
            return LISTED.not_yet("Pending", "The edge has not been asked for its endpoints yet")


def draining_as(seen: Seen, total: int | None) -> Condition:
    if total is None:
        return DRAINING.false("NotDraining", "The installation stays")
    what = "released" if retains(seen.operator) else "removed"
    if seen.left:
        return DRAINING.true("Draining", f"{total - seen.left} of {total} BoundEndpoints are {what}")
    message = f"All {total} BoundEndpoints are {what}"
    match seen.results.to(unregister(seen)):
        case Failed(message=error):
            return DRAINING.true("Draining", f"{message}; the edge does not take us off its list yet: {error}")
        case _:
            return DRAINING.true("Draining", message)


def notices(seen: Seen) -> Iterator[Notice]:
    for problem in seen.problems:
        yield Notice("EndpointNotBound", problem)
    if seen.operator.deleting:
        match seen.results.to(unregister(seen)):
            case Fresh(value=Left(error=error)):
                yield Notice("RegistrationLeft", f"The registration is left at the edge, which did not answer: {error}")
    elif seen.spec is not None and seen.certificate is not None and seen.certificate.validity is Validity.DUE:
        signing = certify(seen, seen.spec)
        outcome = seen.results.to(signing) if signing is not None else None
        if isinstance(outcome, Failed):
            yield Notice("RenewalFailed", f"The certificate could not be renewed yet: {outcome.message}")


def announce(seen: Seen, _answers: Answers) -> tuple[Notice, ...]:
    """Each notice once while it lasts: a repeated event would be a write at rest."""
    return tuple(notice for notice in notices(seen) if notice not in seen.announced)
