"""References to certificates and authorities: read one by one; what may not be used is never read."""

from __future__ import annotations

from seamark.families.gateway.certificates import pem
from seamark.gatewayapi.references import UnresolvedReference, invalid_reference, not_permitted
from seamark_edge.dataplane import model
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.gateway import ObjectReference
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from seamark_runtime.follow import Unreadable
from seamark_runtime.grants import Referrer, granted
from seamark_runtime.source import Absent, Fresh, NotYet
from seamark_runtime.view import View


def read_certificate(
    view: View, referrer: Referrer, field: str, ref: ObjectReference
) -> model.Secret | UnresolvedReference:
    """The certificate and its key that the reference in this field leads to."""
    if ref.group or ref.kind != "Secret":
        return UnresolvedReference("InvalidCertificateRef", f"{ref.kind} can't be a certificate; use a Secret")
    if invalid := invalid_reference(field, ref.name, ref.namespace):
        return UnresolvedReference("InvalidCertificateRef", invalid)
    key = Key(ref.namespace or referrer.namespace, ref.name)
    if not granted(view, referrer, "", "Secret", key):
        return not_permitted(referrer, "Secret", key)
    return _read_certificate(view, key)


def _read_certificate(view: View, key: Key) -> model.Secret | UnresolvedReference:
    match view.single(Secret, key):
        case NotYet():
            raise Retry(f"Secret {key} was not read yet")
        case Absent():
            return UnresolvedReference("InvalidCertificateRef", f"Secret {key} does not exist")
        case Unreadable(message):
            return UnresolvedReference("InvalidCertificateRef", f"Secret {key} can't be read: {message}")
        case Fresh(secret):
            chain, private, problem = pem.pair(secret)
            if problem:
                return UnresolvedReference("InvalidCertificateRef", f"Secret {key}: {problem}")
            return model.Secret(str(key), chain, private)


def read_granted_authorities(
    view: View, referrer: Referrer, field: str, ref: ObjectReference
) -> bytes | UnresolvedReference:
    """The authorities that the reference in this field leads to, possibly in another namespace."""
    if ref.group or ref.kind not in ("ConfigMap", "Secret"):
        message = f"{ref.kind} can't hold authorities; use a ConfigMap"
        return UnresolvedReference("InvalidCACertificateKind", message)
    if invalid := invalid_reference(field, ref.name, ref.namespace):
        return UnresolvedReference("InvalidCACertificateRef", invalid)
    key = Key(ref.namespace or referrer.namespace, ref.name)
    if not granted(view, referrer, "", ref.kind, key):
        return not_permitted(referrer, ref.kind, key)
    return read_authorities(view, ref.kind, key)


def read_authorities(view: View, kind: str, key: Key) -> bytes | UnresolvedReference:
    """The authorities that a ConfigMap or Secret holds."""
    match view.single(ConfigMap, key) if kind == "ConfigMap" else view.single(Secret, key):
        case NotYet():
            raise Retry(f"{kind} {key} was not read yet")
        case Absent():
            return UnresolvedReference("InvalidCACertificateRef", f"{kind} {key} does not exist")
        case Unreadable(message):
            return UnresolvedReference("InvalidCACertificateRef", f"{kind} {key} can't be read: {message}")
        case Fresh(source):
            authorities, problem = pem.authorities(source)
            if problem:
                return UnresolvedReference("InvalidCACertificateRef", f"{kind} {key}: {problem}")
            return authorities
