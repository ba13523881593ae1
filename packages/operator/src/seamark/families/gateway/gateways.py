"""A gateway as it stands, without its routes: its listeners, its sets' listeners, certificates, addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seamark.families.gateway import certificates, limits
from seamark.families.gateway.addresses import Lot
from seamark.families.gateway.backends import Trouble
from seamark.families.gateway.listeners import Claim, Keys, allowed_from, claims, conflicts, examine, gateway_key
from seamark.families.gateway.references import invalid
from seamark.families.gateway.shapes import GatewayView, ListenerView, Lock
from seamark.families.gateway.state import GATEWAY_ACCEPTED, GATEWAY_RESOLVED, SET_ACCEPTED
from seamark_edge.dataplane import model
from seamark_runtime.api.core import ConfigMap, Namespace, Secret
from seamark_runtime.api.gateway import GROUP, Gateway, GatewayClass, LabelSelector, ListenerSet, ObjectReference
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.cache import Index
from seamark_runtime.errors import Retry
from seamark_runtime.follow import Unreadable
from seamark_runtime.grants import Asker, granted
from seamark_runtime.source import Absent, Collection, Fresh, NotYet
from seamark_runtime.view import View

SETS = Index(ListenerSet, lambda one: (gateway_key(one),), "listener sets by gateway")


def ours(view: View, key: Key, controller_name: str) -> Gateway | None:
    """The gateway, if it is there, stays, and its class is one of ours."""
    gateway = view.intent(Gateway, key)
    if gateway is None or gateway.deleting:
        return None
    its_class = view.intent(GatewayClass, Key("", gateway.spec.gateway_class_name))
    return gateway if its_class is not None and its_class.spec.controller_name == controller_name else None


def parent_trouble(view: View, one: ListenerSet) -> str:
    """Why a listener set has no gateway at all; empty for one of another controller."""
    ref, key = one.spec.parent_ref, gateway_key(one)
    if key is None:
        return f"spec.parentRef: {limits.shown(ref.kind or '')} can't be a parent; use a Gateway of {GROUP}"
    if words := invalid("spec.parentRef", ref.name, ref.namespace):
        return words
    return "" if view.intent(Gateway, key) is not None else f"Gateway {ref.name} does not exist"


def observe(view: View, key: Key, controller_name: str, lots: Collection[Lot]) -> GatewayView | None:
    gateway = ours(view, key, controller_name)
    if gateway is None:
        return None
    assigned = next(iter(view.reports(lots, key).values()), Lot())
    named = [one for one in view.by(SETS, key) if not one.deleting]
    allowed = [one for one in named if allows_set(view, gateway, one)]
    claimed = claims(gateway, allowed)
    clashing = conflicts(claimed)
    chest = Chest(view, gateway)
    listeners = tuple(examine(claim, clashing.get(claim.id, ""), chest.keys) for claim in claimed)
    accepted = acceptance(gateway, listeners)
    certificate, resolved = chest.backend_certificate()
    return GatewayView(
        key=key,
        listeners=listeners,
        accepted=accepted,
        resolved=resolved,
        sets=tuple((one.key, set_acceptance(one, allowed, listeners, accepted)) for one in named),
        addresses=assigned.addresses,
        address_trouble=assigned.trouble,
        bind=assigned.bind,
        unreached=assigned.unreached,
        uid=gateway.uid,
        not_started=assigned.not_started,
        backend_certificate=certificate,
        insecure=chest.insecure,
        labels=tuple(sorted((gateway.metadata.labels or {}).items())),
    )


# ---- whether it can be served


def acceptance(gateway: Gateway, listeners: tuple[ListenerView, ...]) -> Condition:
    infrastructure = gateway.spec.infrastructure
    if infrastructure is not None and infrastructure.parameters_ref is not None:
        ref = infrastructure.parameters_ref
        return GATEWAY_ACCEPTED.false("InvalidParameters", f"Parameters of kind {ref.kind} are not supported")
    for claim in gateway.spec.addresses or ():
        if claim.type != "IPAddress":
            words = f"Addresses of type {claim.type} are not supported; use IPAddress"
            return GATEWAY_ACCEPTED.false("UnsupportedAddress", words)
    own = [one for one in listeners if one.door.id.kind == "Gateway"]
    bad = [one.door.id.name for one in own if one.refusal]
    if bad and len(bad) == len(own) and not any(not one.refusal for one in listeners):
        return GATEWAY_ACCEPTED.false("ListenersNotValid", f"No listener can be served: see {', '.join(bad)}")
    if bad:
        return GATEWAY_ACCEPTED.true("ListenersNotValid", f"Some listeners can't be served: {', '.join(bad)}")
    return GATEWAY_ACCEPTED.true("Accepted", "Gateway is accepted")


def allows_set(view: View, gateway: Gateway, one: ListenerSet) -> bool:
    allowed = gateway.spec.allowed_listeners
    namespaces = allowed.namespaces if allowed is not None else None
    who = allowed_from(namespaces) if namespaces is not None and namespaces.who else "None"
    if who == "Selector" and namespaces is not None:
        return selects(namespaces.selector, labels_of(view, one.metadata.namespace))
    return who == "All" or (who == "Same" and one.metadata.namespace == gateway.metadata.namespace)


def set_acceptance(
    one: ListenerSet, allowed: list[ListenerSet], listeners: tuple[ListenerView, ...], gateway: Condition
) -> Condition:
    if one not in allowed:
        return SET_ACCEPTED.false("NotAllowed", "The gateway does not allow listeners from this namespace")
    if gateway.status != "True" and gateway.reason != "ListenersNotValid":
        return SET_ACCEPTED.false("ParentNotAccepted", f"The gateway is not accepted: {gateway.message}")
    own = [each for each in listeners if each.door.id.kind == "ListenerSet" and each.door.id.key == one.key]
    bad = [each.door.id.name for each in own if each.refusal]
    if bad and len(bad) == len(own):
        return SET_ACCEPTED.false("ListenersNotValid", f"No listener can be served: see {', '.join(bad)}")
    if bad:
        return SET_ACCEPTED.true("ListenersNotValid", f"Some listeners can't be served: {', '.join(bad)}")
    return SET_ACCEPTED.true("Accepted", "ListenerSet is accepted")


def labels_of(view: View, namespace: str) -> Mapping[str, str]:
    found = view.intent(Namespace, Key("", namespace))
    return (found.metadata.labels or {}) if found is not None else {}


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    if any(labels.get(name) != value for name, value in (selector.match_labels or {}).items()):
        return False
    for term in selector.match_expressions or ():
        value, values = labels.get(term.key), term.values or ()
        match term.operator:
            case "In":
                good = value is not None and value in values
            case "NotIn":
                good = value is None or value not in values
            case "Exists":
                good = value is not None
            case _:
                good = value is None
        if not good:
            return False
    return True


# ---- certificates


@dataclass
class Chest:
    """Reads what a gateway's listeners refer to, one by one; who may not be read is never asked for."""

    view: View
    gateway: Gateway
    insecure: bool = False

    def keys(self, claim: Claim) -> Keys:
        one = claim.listener
        if one.protocol not in ("HTTPS", "TLS") or (one.tls is not None and one.tls.mode == "Passthrough"):
            return Keys()
        asker = Asker(GROUP, claim.id.kind, claim.id.key.namespace)
        found: list[model.Secret] = []
        trouble = Trouble("InvalidCertificateRef", "A listener that ends TLS needs a certificate")
        for number, ref in enumerate((one.tls.certificate_refs if one.tls is not None else None) or ()):
            got = self.certificate(asker, f"tls.certificateRefs[{number}]", ref)
            if isinstance(got, Trouble):
                trouble = got
            else:
                found.append(got)
        if not found:
            return Keys(Lock(), trouble.reason, trouble.message)
        refs = (one.tls.certificate_refs if one.tls is not None else None) or ()
        partly = (trouble.reason, trouble.message) if len(found) < len(refs) else ("", "")
        return self._validated(claim, tuple(found), partly)

    def _validated(self, claim: Claim, found: tuple[model.Secret, ...], partly: tuple[str, str]) -> Keys:
        tls = self.gateway.spec.tls
        frontend = tls.frontend if tls is not None else None
        if frontend is None:
            return Keys(Lock(found), *partly)
        port = next((one for one in frontend.per_port or () if one.port == claim.listener.port), None)
        validation = (port.tls if port is not None else frontend.default).validation
        if validation is None:
            return Keys(Lock(found), *partly)
        insecure = validation.mode == "AllowInsecureFallback"
        self.insecure = self.insecure or insecure
        asker = Asker(GROUP, "Gateway", self.gateway.metadata.namespace)
        pems, troubles = [], []
        where = "default" if port is None else f"perPort[{port.port}].tls"
        for number, ref in enumerate(validation.ca_certificate_refs):
            field = f"spec.tls.frontend.{where}.validation.caCertificateRefs[{number}]"
            got = self.authorities(asker, field, ref)
            if isinstance(got, Trouble):
                troubles.append(got)
            else:
                pems.append(got)
        reason = (troubles[0].reason, troubles[0].message) if troubles else partly
        if not pems and not insecure:
            return Keys(Lock(), *reason, accepted_reason="NoValidCACertificate")
        return Keys(Lock(found, model.Validation(b"\n".join(pems), required=not insecure)), *reason)

    def certificate(self, asker: Asker, field: str, ref: ObjectReference) -> model.Secret | Trouble:
        if ref.group or ref.kind != "Secret":
            return Trouble("InvalidCertificateRef", f"{ref.kind} can't be a certificate; use a Secret")
        if words := invalid(field, ref.name, ref.namespace):
            return Trouble("InvalidCertificateRef", words)
        key = Key(ref.namespace or asker.namespace, ref.name)
        if not granted(self.view, asker, "", "Secret", key):
            words = f"No ReferenceGrant in namespace {key.namespace} lets {asker.kind}s use the Secret {key.name}"
            return Trouble("RefNotPermitted", words)
        return self._read(key)

    def _read(self, key: Key) -> model.Secret | Trouble:
        match self.view.one(Secret, key):
            case NotYet():
                raise Retry(f"Secret {key} was not read yet")
            case Absent():
                return Trouble("InvalidCertificateRef", f"Secret {key} does not exist")
            case Unreadable(message):
                return Trouble("InvalidCertificateRef", f"Secret {key} can't be read: {message}")
            case Fresh(secret):
                chain, private, wrong = certificates.pair(secret)
                if wrong:
                    return Trouble("InvalidCertificateRef", f"Secret {key}: {wrong}")
                return model.Secret(str(key), chain, private)

    def authorities(self, asker: Asker, field: str, ref: ObjectReference) -> bytes | Trouble:
        if ref.group or ref.kind not in ("ConfigMap", "Secret"):
            words = f"{ref.kind} can't hold authorities; use a ConfigMap"
            return Trouble("InvalidCACertificateKind", words)
        if words := invalid(field, ref.name, ref.namespace):
            return Trouble("InvalidCACertificateRef", words)
        key = Key(ref.namespace or asker.namespace, ref.name)
        if not granted(self.view, asker, "", ref.kind, key):
            words = f"No ReferenceGrant in namespace {key.namespace} lets {asker.kind}s use the {ref.kind} {key.name}"
            return Trouble("RefNotPermitted", words)
        return read_authorities(self.view, ref.kind, key, "InvalidCACertificateRef")

    def backend_certificate(self) -> tuple[model.Secret | None, Condition | None]:
        tls = self.gateway.spec.tls
        ref = tls.backend.client_certificate_ref if tls is not None and tls.backend is not None else None
        if ref is None:
            return None, None
        asker = Asker(GROUP, "Gateway", self.gateway.metadata.namespace)
        got = self.certificate(asker, "spec.tls.backend.clientCertificateRef", ref)
        if isinstance(got, Trouble):
            reason = "RefNotPermitted" if got.reason == "RefNotPermitted" else "InvalidClientCertificateRef"
            return None, GATEWAY_RESOLVED.false(reason, got.message)
        return got, GATEWAY_RESOLVED.true("ResolvedRefs", "All references of the gateway are resolved")


def read_authorities(view: View, kind: str, key: Key, reason: str) -> bytes | Trouble:
    """The authorities that a ConfigMap or Secret holds."""
    found = view.one(ConfigMap, key) if kind == "ConfigMap" else view.one(Secret, key)
    match found:
        case NotYet():
            raise Retry(f"{kind} {key} was not read yet")
        case Absent():
            return Trouble(reason, f"{kind} {key} does not exist")
        case Unreadable(message):
            return Trouble(reason, f"{kind} {key} can't be read: {message}")
        case Fresh(source):
            pem, wrong = certificates.authorities(source)
            return Trouble(reason, f"{kind} {key}: {wrong}") if wrong else pem
