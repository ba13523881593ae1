"""Certificates as objects hold them: whether they can be served, and what is wrong if not."""

from __future__ import annotations

from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from seamark.api.core import ConfigMap, Secret


@lru_cache(maxsize=1024)
def pair_trouble(chain: bytes, key: bytes) -> str:
    """What is wrong with a certificate and its key; empty when they fit."""
    try:
        certificates = x509.load_pem_x509_certificates(chain)
    except ValueError:
        return "tls.crt holds no certificate in PEM"
    try:
        private = load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls.key holds no private key in PEM that can be read without a password"
    forms = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*forms) != certificates[0].public_key().public_bytes(*forms):
        return "tls.crt is not the certificate of tls.key"
    return ""


def pair(secret: Secret) -> tuple[bytes, bytes, str]:
    data = secret.data or {}
    chain, key = data.get("tls.crt", b""), data.get("tls.key", b"")
    return chain, key, pair_trouble(chain, key)


@lru_cache(maxsize=1024)
def _authorities_trouble(pem: bytes) -> str:
    try:
        x509.load_pem_x509_certificates(pem)
    except ValueError:
        return "ca.crt holds no certificate in PEM"
    return ""


def authorities(source: ConfigMap | Secret) -> tuple[bytes, str]:
    """The certificates of authorities that an object holds, and what is wrong with them."""
    held = (source.data or {}).get("ca.crt", "")
    pem = held.encode() if isinstance(held, str) else held
    return pem, _authorities_trouble(pem)


def covered_names(chain: bytes) -> tuple[str, ...]:
    """The DNS names of a certificate."""
    try:
        certificate = x509.load_pem_x509_certificates(chain)[0]
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (ValueError, x509.ExtensionNotFound):
        return ()
    return tuple(names.value.get_values_for_type(x509.DNSName))
