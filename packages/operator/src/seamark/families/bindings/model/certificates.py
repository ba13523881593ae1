"""The key pair with which forwarders authenticate to the edge: created here, signed there, kept in a Secret."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from seamark_runtime.api.core import Secret

CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"
RENEW = 1 / 3  # of its life may be left when a certificate is renewed


class Validity(Enum):
    GOOD = "valid"
    DUE = "valid, to be renewed"
    EXPIRED = "expired"
    MISSING = "there is none, or none that matches its key"


@dataclass(frozen=True)
class Life:
    """The time in which a certificate is valid."""

    begins: datetime
    ends: datetime

    @property
    def due(self) -> datetime:
        return self.ends - (self.ends - self.begins) * RENEW


@dataclass(frozen=True)
class Held:
    """The certificate in the Secret at one moment."""

    validity: Validity
    ends: datetime | None = None
    mark: str = ""  # changes with the certificate
    again: float = float("inf")  # seconds until its validity changes


class Certificates(Protocol):
    """Makes keys, and reads certificates."""

    def request(self) -> tuple[str, str]:
        """A signing request and its key, in PEM."""

    def life(self, certificate: bytes, key: bytes) -> Life | None:
        """The certificate's life; None if it is none, or not of this key."""


class EcCertificates:
    """ECDSA keys on P-256."""

    def request(self) -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bindings-forwarder")])
        csr = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return csr.public_bytes(serialization.Encoding.PEM).decode(), private.decode()

    def life(self, certificate: bytes, key: bytes) -> Life | None:
        try:
            found = x509.load_pem_x509_certificate(certificate)
            private = serialization.load_pem_private_key(key, password=None)
        except (ValueError, TypeError):
            return None
        if private.public_key() != found.public_key():
            return None
        return Life(found.not_valid_before_utc, found.not_valid_after_utc)


def held(secret: Secret | None, certificates: Certificates, now: datetime) -> Held:
    """What the Secret holds; one that does not exist, or holds something else, holds no certificate."""
    data = (secret.data if secret is not None else None) or {}
    certificate, key = data.get(CERTIFICATE, b""), data.get(KEY, b"")
    life = certificates.life(certificate, key) if certificate and key else None
    if life is None:
        return Held(Validity.MISSING)
    mark = certificate.decode(errors="replace")[-120:].strip()
    if now >= life.ends:
        return Held(Validity.EXPIRED, life.ends, mark)
    if now >= life.due:
        return Held(Validity.DUE, life.ends, mark, (life.ends - now) / timedelta(seconds=1))
    return Held(Validity.GOOD, life.ends, mark, (life.due - now) / timedelta(seconds=1))
