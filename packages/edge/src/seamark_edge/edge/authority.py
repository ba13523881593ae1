"""The edge's own certificate authority: a root made once, leaves for hosts, client certificates for operators."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from seamark_edge.edge.errors import invalid
from seamark_edge.store.store import Store

LEAF_DAYS = 90
RENEW_DAYS = 30


class Authority:
    """Signs what this edge vouches for.

    - The root is made at the first start and kept with the state, unless `given` (a directory with ca.crt and ca.key)
      has another; `ca_pem` is what clients are given to trust.
    - A leaf lives 90 days; `context` renews it when 30 are left, for the handshakes that follow.
    """

    def __init__(self, store: Store, given: Path | None = None) -> None:
        key, root = store.secret("ca-key"), store.secret("ca-cert")
        brought = _brought(given) if given is not None else None
        if key is None or root is None or (brought is not None and brought != (key, root)):
            key, root = brought or _make_root()
            store.keep_secret("ca-key", key)
            store.keep_secret("ca-cert", root)
        self._key = _load_key(key)
        self._root = x509.load_pem_x509_certificate(root)
        self.ca_pem = root
        self._contexts: dict[str, tuple[datetime, ssl.SSLContext]] = {}

    def context(self, host: str) -> ssl.SSLContext:
        """A server context for this host, with a certificate of ours."""
        return self._context(host)

    def _context(self, name: str) -> ssl.SSLContext:
        found = self._contexts.get(name)
        now = datetime.now(UTC)
        if found is None or found[0] < now:
            certificate, key = self.issue(name.strip())
            found = (now + timedelta(days=LEAF_DAYS - RENEW_DAYS), server_context(certificate, key))
            if len(self._contexts) >= 4096:
                self._contexts.clear()
            self._contexts[name] = found
        return found[1]

    def ingress_context(self, host: str) -> ssl.SSLContext:
        """Like `context`, and the client must show a certificate that this authority signed."""
        context = self._context(f"{host} ")  # a name that no host has
        if context.verify_mode != ssl.CERT_REQUIRED:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=self.ca_pem.decode())
        return context

    def issue(self, host: str) -> tuple[bytes, bytes]:
        """A certificate chain and its key for one host (a name, a wildcard or an address)."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [_general_name(host)]
        if host in ("127.0.0.1", "localhost"):
            names = [_general_name("127.0.0.1"), _general_name("localhost")]
        builder = self._builder(host, key.public_key(), ExtendedKeyUsageOID.SERVER_AUTH)
        certificate = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(
            self._key, hashes.SHA256()
        )
        return certificate.public_bytes(serialization.Encoding.PEM) + self.ca_pem, _key_pem(key)

    def sign(self, csr_pem: str, subject: str) -> x509.Certificate:
        """A client certificate for the key of this request. The name is ours to say, not the request's."""
        try:
            request = x509.load_pem_x509_csr(csr_pem.encode())
            valid = request.is_signature_valid
        except (ValueError, TypeError) as error:
            raise invalid("binding.csr is no PEM certificate signing request") from error
        public = request.public_key()
        if not valid or not isinstance(public, ec.EllipticCurvePublicKey) or public.curve.name != "secp256r1":
            raise invalid("binding.csr must be signed with an ECDSA P-256 key")
        return self._builder(subject, public, ExtendedKeyUsageOID.CLIENT_AUTH).sign(self._key, hashes.SHA256())

    def _builder(
        self, name: str, public: ec.EllipticCurvePublicKey, usage: x509.ObjectIdentifier
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]))
            .issuer_name(self._root.subject)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=LEAF_DAYS))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )


def server_context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    load_chain(context, certificate, key)
    return context


def load_chain(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL reads from files only: both lie in a private directory for that moment."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pair.pem"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(path)


def _brought(given: Path) -> tuple[bytes, bytes] | None:
    """The configured key and certificate; None if there are none."""
    key, root = given / "ca.key", given / "ca.crt"
    return (key.read_bytes(), root.read_bytes()) if key.exists() and root.exists() else None


def _make_root() -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Seamark edge CA")])
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    root = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _key_pem(key), root.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
