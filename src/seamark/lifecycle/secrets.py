"""The Secrets by which the parts of one installation know each other: made once, and renewed in time.

- An authority of its own signs a certificate for each part; it lives ten years, a certificate one. What has less than
  a third of its life left is made anew. Whoever mounts it takes it up without a restart.
- Tokens are made once and stay.
"""

from __future__ import annotations

import base64
import ipaddress
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from seamark.api.core import Secret
from seamark.api.meta import Key, ObjectMeta
from seamark.core.client import Client
from seamark.core.errors import Gone
from seamark.core.rbac import Grant, on

CA_LIFE, LIFE = timedelta(days=3650), timedelta(days=365)
MADE_BY = {"app.kubernetes.io/managed-by": "seamark-install"}
CRT, KEY, CA_CRT, CA_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"


@dataclass(frozen=True)
class Wanted:
    """A Secret: a certificate for these hosts (none: no certificate), and tokens by their keys."""

    name: str
    hosts: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


def grants(namespace: str, names: Iterable[str]) -> set[Grant]:
    """Reading and changing these by name; a right to create can't be limited to names."""
    verbs = ("get", "patch")
    named = {grant for name in names for grant in on(Secret, verbs, namespace=namespace, name=name)}
    return named | on(Secret, ("create",), namespace=namespace)


async def keep(client: Client, namespace: str, authority: str, wanted: Iterable[Wanted]) -> list[str]:
    """Makes sure that the authority and these Secrets are there and good for a while; says what was made."""
    now = datetime.now(UTC)
    told: list[str] = []
    ca = await _data(client, Key(namespace, authority))
    if not ca.get(CA_KEY) or not fresh(ca.get(CA_CRT, b""), now):
        ca = make_authority(now)
        told.append(await _write(client, Key(namespace, authority), ca))
    for one in wanted:
        have = await _data(client, Key(namespace, one.name))
        changed = {name: secrets.token_urlsafe(32).encode() for name in one.tokens if not have.get(name)}
        if one.hosts and due(have, ca[CA_CRT], one.hosts, now):
            changed |= issue(ca, one.hosts, now)
        if one.tokens and have.get(CA_CRT) != ca[CA_CRT]:
            changed[CA_CRT] = ca[CA_CRT]
        if changed:
            told.append(await _write(client, Key(namespace, one.name), changed))
    return told


def due(have: Mapping[str, bytes], ca: bytes, hosts: tuple[str, ...], now: datetime) -> bool:
    """Whether a certificate is to be made: there is none, it is old, another authority's, or for other hosts."""
    if not have.get(KEY) or not fresh(have.get(CRT, b""), now):
        return True
    certificate = x509.load_pem_x509_certificate(have[CRT])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return have.get(CA_CRT) != ca or list(names) != [_named(host) for host in hosts]


def fresh(pem: bytes, now: datetime) -> bool:
    """Whether a certificate has at least a third of its life left."""
    try:
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return False
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - now > life / 3


def make_authority(now: datetime) -> dict[str, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Seamark installation CA")])
    builder = _builder(name, name, key.public_key(), now, CA_LIFE)
    made = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    made = made.add_extension(_usage(signs=True), critical=True)
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return {CA_CRT: _pem(made.sign(key, hashes.SHA256())), CA_KEY: _key(key)}


def issue(ca: Mapping[str, bytes], hosts: tuple[str, ...], now: datetime) -> dict[str, bytes]:
    """A certificate for these hosts, good for both ends of a connection, with its key and its authority."""
    signer = serialization.load_pem_private_key(ca[CA_KEY], password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    root = x509.load_pem_x509_certificate(ca[CA_CRT])
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
    builder = _builder(name, root.subject, key.public_key(), now, LIFE)
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    names = x509.SubjectAlternativeName([_named(host) for host in hosts])
    made = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    made = made.add_extension(names, critical=False).add_extension(both, critical=False)
    made = made.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    return {CRT: _pem(made.sign(signer, hashes.SHA256())) + ca[CA_CRT], KEY: _key(key), CA_CRT: ca[CA_CRT]}


def _builder(
    name: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(minutes=5)).not_valid_after(now + life)


def _named(host: str) -> x509.GeneralName:
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


async def _data(client: Client, key: Key) -> dict[str, bytes]:
    try:
        return dict((await client.get(Secret, key)).data or {})
    except Gone:
        return {}


async def _write(client: Client, key: Key, data: Mapping[str, bytes]) -> str:
    """Makes it, or changes these entries of it."""
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    try:
        await client.merge_patch(Secret, key, {"data": encoded})
    except Gone:
        metadata = ObjectMeta(name=key.name, namespace=key.namespace, labels=MADE_BY)
        await client.create(Secret(metadata=metadata, data=dict(data)))
    return f"secret {key.name}: {', '.join(sorted(data))} made"
