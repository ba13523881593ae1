"""Reserved addresses and domains, and the certificates of domains."""

from __future__ import annotations

import hashlib
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtensionOID, NameOID

from seamark.core.clock import timestamp
from seamark.core.errors import Exists
from seamark.edge.api.base import Body, Resource, read, ref, said
from seamark.edge.errors import Refusal, invalid
from seamark.edge.places import ADDRESS, DOMAIN
from seamark.edge.store import Record
from seamark.edge.urls import check_host

CERTIFICATE = "tls_certificate"


class AddrBody(Body, frozen=True, kw_only=True):
    region: str | None = None


class ReservedAddrs(Resource):
    """TCP addresses that stay their owner's. They listen while an endpoint is online there."""

    path, key, kind, prefix, what = "/reserved_addrs", "reserved_addrs", ADDRESS, "ra", "reserved address"

    async def create(self, raw: Any) -> dict[str, Any]:
        body = read(raw, AddrBody)
        free = self.office.places.pick_ports(1)
        if not free:
            raise Refusal(9445, "no address of this edge's range is free", status=503)
        addr = free[0].hostport
        return await self.add({**said(body), "addr": addr, "region": self.office.settings.region}, addr)


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
        domain = check_host((body.pop("domain", "") or "").lower().rstrip("."))
        body |= {"domain": domain, "region": self.office.settings.region, "cname_target": self._cname(domain)}
        try:
            return await self.add(body, domain)
        except Exists as error:
            raise Refusal(413, f"the domain {domain} is reserved already", status=409) from error

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
        return said(body)

    def _cname(self, domain: str) -> str | None:
        if domain == self.office.settings.domain or domain.endswith("." + self.office.settings.domain):
            return None
        # From the name alone: whoever reserves it again points their record at the same target.
        return f"{hashlib.sha256(domain.encode()).hexdigest()[:20]}.{self.office.settings.cname_suffix}"


class CertificateBody(Body, frozen=True, kw_only=True):
    certificate_pem: str | None = None
    private_key_pem: str | None = None


class TlsCertificates(Resource):
    """Uploaded certificates. The private key is never shown again."""

    path, key, kind, prefix, what = "/tls_certificates", "tls_certificates", CERTIFICATE, "cert", "TLS certificate"

    async def create(self, raw: Any) -> dict[str, Any]:
        body = read(raw, CertificateBody)
        leaf = check_pair(body.certificate_pem or "", body.private_key_pem or "")
        return await self.add({**said(body), **_facts(leaf)})

    async def delete(self, ident: str) -> None:
        for domain in self.store.all(DOMAIN):
            if domain.body.get("certificate_id") == ident:
                raise Refusal(409, f"the certificate is in use by {domain.body['domain']}", status=409)
        await super().delete(ident)

    def show(self, record: Record) -> dict[str, Any]:
        return {name: value for name, value in record.body.items() if name != "private_key_pem"}


def check_pair(certificate_pem: str, key_pem: str) -> x509.Certificate:
    """The leaf of a chain whose key this is; a refusal otherwise."""
    try:
        leaf = x509.load_pem_x509_certificates(certificate_pem.encode())[0]
        key = serialization.load_pem_private_key(key_pem.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise invalid("certificate_pem and private_key_pem must be a PEM chain and its unencrypted key") from error
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    if leaf.public_key().public_bytes(*form) != key.public_key().public_bytes(*form):
        raise invalid("the private key does not belong to the certificate")
    return leaf


def _facts(leaf: x509.Certificate) -> dict[str, Any]:
    try:
        names = leaf.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value
        assert isinstance(names, x509.SubjectAlternativeName)
        dns = names.get_values_for_type(x509.DNSName)
        ips = [str(ip) for ip in names.get_values_for_type(x509.IPAddress)]
    except x509.ExtensionNotFound:
        dns, ips = [], []
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
