"""The certificates of a gateway: of its listeners that terminate TLS, and the one for its backends."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.gateway.certificates.pem import date_problem, validity
from seamark.families.gateway.certificates.references import read_certificate, read_granted_authorities
from seamark.families.gateway.gateway.state import GATEWAY_RESOLVED
from seamark.families.gateway.model.gateways import NO_TLS, ListenerTLS
from seamark.gatewayapi.listeners import DeclaredListener
from seamark.gatewayapi.references import UnresolvedReference
from seamark_edge.dataplane import model
from seamark_runtime.api.gateway import GROUP, Gateway, Listener
from seamark_runtime.api.meta import Condition
from seamark_runtime.grants import Referrer
from seamark_runtime.view import View

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class ListenerCertificates:
    """What a listener's references to certificates lead to, and the first that can't be resolved."""

    tls: ListenerTLS = NO_TLS
    reason: str = ""
    message: str = ""
    accepted_reason: str = ""  # where the problem also makes the listener unacceptable


@dataclass(frozen=True)
class GatewayCertificates:
    """Reads what a gateway and its listeners refer to."""

    view: View
    gateway: Gateway

    def of_listener(self, declared: DeclaredListener) -> ListenerCertificates:
        listener = declared.listener
        if listener.protocol not in ("HTTPS", "TLS") or (
            listener.tls is not None and listener.tls.mode == "Passthrough"
        ):
            return ListenerCertificates()
        referrer = Referrer(GROUP, declared.id.kind, declared.id.key.namespace)
        refs = (listener.tls.certificate_refs if listener.tls is not None else None) or ()
        certificates: list[model.Secret] = []
        unresolved = UnresolvedReference("InvalidCertificateRef", "A listener that ends TLS needs a certificate")
        dated = False
        for number, ref in enumerate(refs):
            found = read_certificate(self.view, referrer, f"tls.certificateRefs[{number}]", ref)
            if isinstance(found, UnresolvedReference):
                unresolved = found
            else:
                certificates.append(found)
                self._requeue_at_dates(found.chain)
                if outdated := date_problem(found.chain, self.view.date):  # it is served: some clients take it
                    unresolved, dated = (
                        UnresolvedReference("InvalidCertificateRef", f"Secret {found.name}: {outdated}"),
                        True,
                    )
        if not certificates:
            return ListenerCertificates(NO_TLS, unresolved.reason, unresolved.message)
        problem = unresolved if dated or len(certificates) < len(refs) else None
        return self._validated(listener, tuple(certificates), problem)

    def _requeue_at_dates(self, chain: bytes) -> None:
        """When a date of the certificate passes; within an hour in any case, as the machine's date may be set."""
        ahead = [seconds for date in validity(chain) if (seconds := (date - self.view.date).total_seconds()) > 0]
        if ahead:
            self.view.requeue_at = min(self.view.requeue_at, self.view.now + min(*ahead, HOUR))

    def _validated(
        self, listener: Listener, certificates: tuple[model.Secret, ...], problem: UnresolvedReference | None
    ) -> ListenerCertificates:
        """With the validation of client certificates, if the gateway has any for the listener's port."""
        tls = self.gateway.spec.tls
        frontend = tls.frontend if tls is not None else None
        port = None
        if frontend is not None:
            port = next((each for each in frontend.per_port or () if each.port == listener.port), None)
        settings = port.tls if port is not None else frontend.default if frontend is not None else None
        validation = settings.validation if settings is not None else None
        if validation is None:
            return _listener_certificates(ListenerTLS(certificates), problem)
        insecure = validation.mode == "AllowInsecureFallback"
        referrer = Referrer(GROUP, "Gateway", self.gateway.metadata.namespace)
        where = "default" if port is None else f"perPort[{port.port}].tls"
        authorities, unresolved = [], []
        for number, ref in enumerate(validation.ca_certificate_refs):
            field = f"spec.tls.frontend.{where}.validation.caCertificateRefs[{number}]"
            found = read_granted_authorities(self.view, referrer, field, ref)
            if isinstance(found, UnresolvedReference):
                unresolved.append(found)
            else:
                authorities.append(found)
        first = unresolved[0] if unresolved else problem
        if not authorities and not insecure:
            return _listener_certificates(NO_TLS, first, accepted_reason="NoValidCACertificate")
        validated = model.Validation(b"\n".join(authorities), required=not insecure)
        return _listener_certificates(ListenerTLS(certificates, validated), first)

    def of_backends(self) -> tuple[model.Secret | None, Condition | None]:
        """The certificate with which the gateway connects to backends, and the condition about it."""
        tls = self.gateway.spec.tls
        ref = tls.backend.client_certificate_ref if tls is not None and tls.backend is not None else None
        if ref is None:
            return None, None
        referrer = Referrer(GROUP, "Gateway", self.gateway.metadata.namespace)
        found = read_certificate(self.view, referrer, "spec.tls.backend.clientCertificateRef", ref)
        if isinstance(found, UnresolvedReference):
            reason = "RefNotPermitted" if found.reason == "RefNotPermitted" else "InvalidClientCertificateRef"
            return None, GATEWAY_RESOLVED.false(reason, found.message)
        return found, GATEWAY_RESOLVED.true("ResolvedRefs", "All references of the gateway are resolved")


def _listener_certificates(
    tls: ListenerTLS, problem: UnresolvedReference | None, accepted_reason: str = ""
) -> ListenerCertificates:
    if problem is None:
        return ListenerCertificates(tls, accepted_reason=accepted_reason)
    return ListenerCertificates(tls, problem.reason, problem.message, accepted_reason)
