"""Certificates that an installation's own authority signs: for servers, and for clients that are known by a URI.

- The authority lives ten years, a certificate one. A certificate is due for renewal when a third of its life is left.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_LIFETIME, LIFETIME = timedelta(days=3650), timedelta(days=365)
CRT, KEY, CA_CRT, CA_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"


def due(have: Mapping[str, bytes], ca: bytes, hosts: tuple[str, ...], now: datetime) -> bool:
    """Whether a certificate is to be made: there is none, it is old, another authority's, or for other hosts."""
    if not have.get(KEY) or not fresh(have.get(CRT, b""), now):
        return True
    certificate = x509.load_pem_x509_certificate(have[CRT])
    try:
        names = list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except (ValueError, x509.ExtensionNotFound):
        return True
    return have.get(CA_CRT) != ca or names != [_named(host) for host in hosts]


def fresh(pem: bytes, now: datetime) -> bool:
    """Whether a certificate has at least a third of its life left."""
    try:
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return False
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - now > lifetime / 3


def make_authority(now: datetime) -> dict[str, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Seamark installation CA")])
    builder = _builder(name, name, key.public_key(), now, CA_LIFETIME)
    made = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    made = made.add_extension(_usage(signs=True), critical=True)
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return {CA_CRT: _pem(made.sign(key, hashes.SHA256())), CA_KEY: _key(key)}


def issue(
    ca: Mapping[str, bytes], hosts: tuple[str, ...], now: datetime, *, client_only: bool = False
) -> dict[str, bytes]:
    """A certificate for these hosts or URIs, good for both ends of a connection, with its key and its authority."""
    signer = serialization.load_pem_private_key(ca[CA_KEY], password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    root = x509.load_pem_x509_certificate(ca[CA_CRT])
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
    builder = _builder(name, root.subject, key.public_key(), now, LIFETIME)
    server = () if client_only else (ExtendedKeyUsageOID.SERVER_AUTH,)
    ends = x509.ExtendedKeyUsage([*server, ExtendedKeyUsageOID.CLIENT_AUTH])
    names = x509.SubjectAlternativeName([_named(host) for host in hosts])
    made = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    made = made.add_extension(names, critical=False).add_extension(ends, critical=False)
    made = made.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    return {CRT: _pem(made.sign(signer, hashes.SHA256())) + ca[CA_CRT], KEY: _key(key), CA_CRT: ca[CA_CRT]}


def _builder(
    name: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(minutes=5)).not_valid_after(now + lifetime)


def _named(host: str) -> x509.GeneralName:
    if "://" in host:
        return x509.UniformResourceIdentifier(host)
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key(key: ec.EllipticCurvePrivateKey) -> bytes:
    private = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
