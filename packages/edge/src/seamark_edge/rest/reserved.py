"""Reserved addresses and domains, and the certificates of domains."""

from __future__ import annotations

import hashlib
from typing import Any

import structlog
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtensionOID, NameOID

from seamark_edge.edge.certificates import CERTIFICATE
from seamark_edge.edge.checking import api_caller
from seamark_edge.edge.errors import Refusal, invalid, no_address_free, own_name
from seamark_edge.edge.keypairs import BadPair
from seamark_edge.edge.places import ADDRESS, DOMAIN
from seamark_edge.edge.urls import reservable
from seamark_edge.rest.base import Body, Resource, read, ref, set_fields
from seamark_edge.store.record import Record
from seamark_runtime.clock import timestamp
from seamark_runtime.errors import Exists

log = structlog.get_logger(__name__)


class AddrBody(Body, frozen=True, kw_only=True):
    region: str | None = None


class ReservedAddrs(Resource):
    """TCP addresses that stay their owner's. They listen while an endpoint is online there."""

    path, key, kind, prefix, what = "/reserved_addrs", "reserved_addrs", ADDRESS, "ra", "reserved address"

    async def create(self, raw: Any) -> dict[str, Any]:
        body = read(raw, AddrBody)
        free = self.office.places.pick_ports(1)
        if not free:
            raise no_address_free()
        self.office.places.give_up(free[0])
        addr = free[0].hostport
        return await self.add({**set_fields(body), "addr": addr, "region": self.office.settings.region}, addr)


class DomainBody(Body, frozen=True, kw_only=True):
    domain: str | None = None
    region: str | None = None
    certificate_id: str | None = None
    certificate_management_policy: dict[str, Any] | None = None
    resolves_to: list[dict[str, Any]] | None = None


class ReservedDomains(Resource):
    """Host names that endpoints may take. A name outside the edge's own domain comes with a CNAME target."""

    path, key, kind, prefix, what = "/reserved_domains", "reserved_domains", DOMAIN, "rd", "reserved domain"

    async def create(self, raw: Any) -> dict[str, Any]:
        body = self._checked(raw)
        domain = reservable((body.pop("domain", "") or "").lower().rstrip("."))
        if self.office.settings.is_own_name(domain):
            raise own_name(domain)
        body |= {"domain": domain, "region": self.office.settings.region, "cname_target": self._cname(domain)}
        try:
            return await self.add(body, domain)
        except Exists as error:
            raise Refusal(413, f"the domain {domain} is reserved already", status=409) from error

    async def restore(self) -> None:
        """At start: names that an earlier version reserved, and that the edge keeps for itself, are given back."""
        for record in list(self.store.all(DOMAIN)):
            if self.office.settings.is_own_name(record.body["domain"]):
                log.warning("reserved domain given back: the edge keeps it for itself", domain=record.body["domain"])
                await self.store.remove(record)

    async def update(self, ident: str, raw: Any) -> dict[str, Any]:
        body = self._checked(raw)
        body.pop("domain", None)
        await self.store.put(self.record(ident).changed(**body))
        return self.view(ident)

    async def detach(self, ident: str, what: str) -> None:
        """DELETE of a sub-resource: the uploaded certificate, or the (never set) management policy."""
        if what == "certificate":
            await self.store.put(self.record(ident).changed(certificate_id=None))
        elif what == "certificate_management_policy":
            self.record(ident)
        else:
            raise Refusal(404, "no such path", status=404)

    def show(self, record: Record) -> dict[str, Any]:
        certificate = record.body.get("certificate_id")
        shown = {name: value for name, value in record.body.items() if name != "certificate_id"}
        return {
            "certificate_management_policy": None,
            "certificate_management_status": None,
            "acme_challenge_cname_target": None,
            "resolves_to": [],
            **shown,
            "certificate": ref("/tls_certificates", certificate) if certificate else None,
        }

    def _checked(self, raw: Any) -> dict[str, Any]:
        body = read(raw, DomainBody)
        if body.certificate_management_policy:
            raise Refusal(9437, "certificate_management_policy: this edge issues from its own CA or uses uploads")
        if body.certificate_id and self.store.get(CERTIFICATE, body.certificate_id) is None:
            raise invalid(f"certificate_id {body.certificate_id[:100]!r} is no uploaded certificate")
        return set_fields(body)

    def _cname(self, domain: str) -> str | None:
        if domain == self.office.settings.domain or domain.endswith("." + self.office.settings.domain):
            return None
        # From the name alone: after another reservation a DNS record with this target is still right.
        return f"{hashlib.sha256(domain.encode()).hexdigest()[:20]}.{self.office.settings.cname_suffix}"


class CertificateBody(Body, frozen=True, kw_only=True):
    certificate_pem: str | None = None
    private_key_pem: str | None = None


class TlsCertificates(Resource):
    """Uploaded certificates. The private key is never shown again."""

    path, key, kind, prefix, what = "/tls_certificates", "tls_certificates", CERTIFICATE, "cert", "TLS certificate"

    async def create(self, raw: Any) -> dict[str, Any]:
        body = read(raw, CertificateBody)
        try:
            facts = _facts(
                await self.office.checker.pair(body.certificate_pem or "", body.private_key_pem or "", api_caller.get())
            )
        except BadPair as error:
            raise invalid(str(error)) from None
        return await self.add({**set_fields(body), **facts})

    async def delete(self, ident: str) -> None:
        for domain in self.store.all(DOMAIN):
            if domain.body.get("certificate_id") == ident:
                raise Refusal(409, f"the certificate is in use by {domain.body['domain']}", status=409)
        await super().delete(ident)

    def show(self, record: Record) -> dict[str, Any]:
        return {name: value for name, value in record.body.items() if name != "private_key_pem"}


def _facts(leaf: x509.Certificate) -> dict[str, Any]:
    try:
        names = leaf.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value
        assert isinstance(names, x509.SubjectAlternativeName)
        dns = names.get_values_for_type(x509.DNSName)
        ips = [str(ip) for ip in names.get_values_for_type(x509.IPAddress)]
    except x509.ExtensionNotFound:
        dns, ips = [], []
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise BadPair(f"certificate_pem has extensions that can't be read: {error}") from None
    public = leaf.public_key()
    kinds = {rsa.RSAPublicKey: "rsa", ec.EllipticCurvePublicKey: "ecdsa", ed25519.Ed25519PublicKey: "ed25519"}
    return {
        "subject_common_name": _common_name(leaf.subject),
        "issuer_common_name": _common_name(leaf.issuer),
        "subject_alternative_names": {"dns_names": dns, "ips": ips},
        "not_before": timestamp(leaf.not_valid_before_utc),
        "not_after": timestamp(leaf.not_valid_after_utc),
        "issued_at": None,
        "serial_number": f"{leaf.serial_number:x}",
        "private_key_type": next((name for kind, name in kinds.items() if isinstance(public, kind)), "unknown"),
        "key_usages": [],
        "extended_key_usages": [],
    }


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""
