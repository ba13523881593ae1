"""KubernetesOperator: this installation, registered at the edge with a certificate. No client, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark.families.bindings.certificates import CA, CERTIFICATE, KEY, Held, Validity
from seamark.families.bindings.edgework import Certify, Left, ListBound, Register, Registration, Signed, Unregister
from seamark.families.bindings.state import Settings
from seamark_edge.api.kubernetesoperator import BINDINGS, RETAIN, KubernetesOperator, KubernetesOperatorStatus
from seamark_edge.model import OperatorSpec, Owner
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Condition, Key, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed, Results
from seamark_runtime.clock import timestamp
from seamark_runtime.conditions import ConditionType
from seamark_runtime.controller import Wanted
from seamark_runtime.errors import Refused
from seamark_runtime.events import Notice
from seamark_runtime.source import Fresh, NotYet, Stale

TLS_SECRET = "certificate"  # noqa: S105  # the role of a child
FINALIZER = "bindings.k8s.ngrok.com/registration"
TRUTH = "Unknown until the edge has answered"
UNREACHABLE = "The edge did not answer; the message has the words"

REGISTERED = ConditionType(
    "Registered",
    meaning="The edge knows this installation",
    reasons={
        "Registered": "The edge has confirmed it",
        "RegistrationFailed": "The edge refused; the message has its words",
        "EdgeUnreachable": UNREACHABLE,
        "Pending": TRUTH,
    },
    first_message="Not yet registered",
)
READY = ConditionType(
    "Ready",
    meaning="Endpoints of the edge are bound here, and forwarders can reach them",
    reasons={
        "Ready": "Registered, with a good certificate, and the edge lists its endpoints",
        "EdgeUnreachable": UNREACHABLE,
        "CertificateFailed": "There is no good certificate; the message says why",
        "CertificateExpired": "The certificate is over, and no new one could be had",
        "Draining": "The installation goes",
        "NotConfigured": "The spec has no binding, or the feature bindings is not enabled",
        "Pending": TRUTH,
    },
    summary=True,
    first_message="Not yet registered",
)
DRAINING = ConditionType(
    "Draining",
    meaning="The installation goes: what was made here is removed or released",
    reasons={"NotDraining": "It stays", "Draining": "It goes; the message counts", "Pending": "Nobody has looked yet"},
    first_message="Nobody has looked yet",
)
CERTIFIED = ConditionType("Certified", meaning="A part of Ready", reasons=READY.reasons)
LISTED = ConditionType("Listed", meaning="A part of Ready", reasons=READY.reasons)
CONDITIONS = (REGISTERED, READY, DRAINING)


@dataclass(frozen=True)
class SeenInstallation:
    operator: KubernetesOperator
    cluster: str  # which cluster this is: the uid of its kube-system namespace
    certificate: Held | None  # None: the Secret has not been read yet
    secret_trouble: str  # why the Secret can't be read
    attempt: int
    results: Results
    settings: Settings
    left: int = 0  # while it goes: what still holds on to us
    problems: tuple[str, ...] = ()

    @property
    def owner(self) -> Owner:
        meta = self.operator.metadata
        return Owner(self.cluster, meta.namespace, meta.name, meta.uid)

    @property
    def spec(self) -> OperatorSpec | None:
        """The registration for the edge; None if nothing is to be bound."""
        spec = self.operator.spec
        if spec.binding is None or BINDINGS not in spec.enabled_features:
            return None
        named = spec.deployment
        deployment = (named.name, named.namespace, named.version) if named else ("", "", "")
        return OperatorSpec(spec.binding.endpoint_selectors, features=spec.enabled_features, deployment=deployment)

    @property
    def retains(self) -> bool:
        drain = self.operator.spec.drain
        return drain is None or drain.policy == RETAIN

    @property
    def secret_key(self) -> Key:
        binding = self.operator.spec.binding
        return Key(self.operator.metadata.namespace, binding.tls_secret_name if binding else "")


def desire(seen: SeenInstallation) -> Wanted:
    if seen.operator.deleting:
        return desire_going(seen)
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


def desire_going(seen: SeenInstallation) -> Wanted:
    """First everything here, then the registration at the edge, then our finalizer."""
    if seen.left:
        return Wanted(finalizer=True)
    leaving = unregister(seen)  # wanted to the end: a failed removal must not repeat the request
    return Wanted(calls=(leaving,), finalizer=not isinstance(seen.results.to(leaving), Fresh))


def register(seen: SeenInstallation, spec: OperatorSpec) -> Call[Registration]:
    return Call(f"register {seen.operator.key}", Register(seen.owner, spec, seen.attempt), timeout=60.0)


def list_bound(seen: SeenInstallation, ident: str) -> Call[None]:
    every = seen.settings.poll
    target = f"list what is bound for {seen.operator.key}"
    return Call(target, ListBound(seen.operator.key, ident), every=every, shelf_life=3 * every + 60, timeout=60.0)


def certify(seen: SeenInstallation, spec: OperatorSpec) -> Call[Signed] | None:
    """A new certificate, where the one in the Secret is not good for long; None where it is."""
    found = seen.certificate
    if found is None or found.validity is Validity.GOOD:
        return None
    action = Certify(seen.owner, spec, found.mark, seen.attempt)
    return Call(f"certificate of {seen.operator.key}", action, timeout=60.0)


def unregister(seen: SeenInstallation) -> Call[Left | None]:
    return Call(f"unregister {seen.operator.key}", Unregister(seen.owner), timeout=60.0)


def tls_secret(seen: SeenInstallation, signed: Signed) -> Secret:
    data = {CERTIFICATE: signed.certificate.encode(), KEY: signed.key.encode()}
    if seen.settings.edge_ca:
        data[CA] = seen.settings.edge_ca.encode()
    key = seen.secret_key
    return Secret(metadata=ObjectMeta(name=key.name, namespace=key.namespace), type="kubernetes.io/tls", data=data)


def judge(seen: SeenInstallation, answers: Answers) -> KubernetesOperatorStatus:
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


def registration(seen: SeenInstallation) -> Registration | None:
    if seen.spec is None:
        return None
    match seen.results.to(register(seen, seen.spec)):
        case Fresh(value=found) | Stale(value=found):
            return found
        case _:
            return None


def registered_as(seen: SeenInstallation) -> Condition:
    if seen.operator.deleting:
        return standing(seen)
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


def standing(seen: SeenInstallation) -> Condition:
    """While it is deleted, nothing is requested any more: the condition of the registration stays until it is
    removed."""
    said = seen.operator.status.conditions if seen.operator.status is not None else ()
    known = any(one.type == REGISTERED.name and one.status == "True" for one in said)
    ident = seen.operator.status.id if seen.operator.status is not None else ""
    if known:
        return REGISTERED.true("Registered", f"The edge knows this installation as {ident}")
    return REGISTERED.unknown("Pending", "Not registered")


def ready_as(seen: SeenInstallation, registered: Condition, answers: Answers) -> Condition:
    if seen.operator.deleting:
        return READY.false("Draining", "The installation goes")
    if seen.spec is None:
        return READY.false("NotConfigured", "spec.binding is missing, or spec.enabledFeatures does not name bindings")
    parts = (registered, certified_as(seen, seen.spec, answers), listed_as(seen))
    return READY.worst_of(*parts, otherwise=("Ready", "Registered, certified, and the edge lists its endpoints"))


def certified_as(seen: SeenInstallation, spec: OperatorSpec, answers: Answers) -> Condition:  # noqa: PLR0911  a row each
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


def listed_as(seen: SeenInstallation) -> Condition:
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


def draining_as(seen: SeenInstallation, total: int | None) -> Condition:
    if total is None:
        return DRAINING.false("NotDraining", "The installation stays")
    what = "released" if seen.retains else "removed"
    if seen.left:
        return DRAINING.true("Draining", f"{total - seen.left} of {total} BoundEndpoints are {what}")
    words = f"All {total} BoundEndpoints are {what}"
    match seen.results.to(unregister(seen)):
        case Failed(message=message):
            return DRAINING.true("Draining", f"{words}; the edge does not take us off its list yet: {message}")
        case _:
            return DRAINING.true("Draining", words)


def announce(seen: SeenInstallation, _answers: Answers) -> Iterable[Notice]:
    for problem in seen.problems:
        yield Notice("EndpointNotBound", problem)
    if seen.operator.deleting:
        match seen.results.to(unregister(seen)):
            case Fresh(value=Left(words=words)):
                yield Notice("RegistrationLeft", f"The registration is left at the edge, which did not answer: {words}")
    elif seen.spec is not None and seen.certificate is not None and seen.certificate.validity is Validity.DUE:
        signing = certify(seen, seen.spec)
        outcome = seen.results.to(signing) if signing is not None else None
        if isinstance(outcome, Failed):
            yield Notice("RenewalFailed", f"The certificate could not be renewed yet: {outcome.message}")
