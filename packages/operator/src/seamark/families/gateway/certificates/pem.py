"""Certificates as objects hold them: whether they can be served, and what is wrong if not."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPrivateNumbers
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.clock import timestamp

SMALLEST_RSA, LARGEST_RSA = 2048, 8192  # bits
CURVES = ("secp256r1", "secp384r1", "secp521r1")
MOST_KEY_BYTES = 64 * 1024


@lru_cache(maxsize=1024)
def pair_problem(chain: bytes, key: bytes) -> str:
    """What is wrong with a certificate and its key; empty when they fit, and Envoy can serve them."""
    forms = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    try:
        certified = x509.load_pem_x509_certificates(chain)[0].public_key().public_bytes(*forms)
    except (ValueError, UnsupportedAlgorithm):
        return "tls.crt holds no certificate in PEM whose key can be read"
    if len(key) > MOST_KEY_BYTES:
        return f"tls.key has {len(key)} bytes, at most {MOST_KEY_BYTES} are read"
    try:
        # the library's own check of an RSA key takes seconds for a large one; `key_problem` has what is needed of it
        private = load_pem_private_key(key, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls.key holds no private key in PEM that can be read without a password"
    if problem := key_problem(private):
        return f"tls.key: {problem}"
    if private.public_key().public_bytes(*forms) != certified:
        return "tls.crt is not the certificate of tls.key"
    return ""


def key_problem(private: PrivateKeyTypes) -> str:
    """Why Envoy would refuse a key, and with it the whole update that contains the key."""
    match private:
        case RSAPrivateKey():
            if not SMALLEST_RSA <= private.key_size <= LARGEST_RSA:
                return f"an RSA key must have from {SMALLEST_RSA} to {LARGEST_RSA} bits"
            return "" if _consistent(private.private_numbers()) else "the numbers of the RSA key do not fit together"
        case EllipticCurvePrivateKey() if private.curve.name in CURVES:
            return ""
        case _:
            return "keys of this kind are not served; use RSA, or ECDSA with P-256, P-384 or P-521"


def _consistent(key: RSAPrivateNumbers) -> bool:
    """What a TLS library checks of an RSA key, without tests for primes."""
    public, p, q = key.public_numbers, key.p, key.q
    return (
        p > 1
        and q > 1
        and p * q == public.n
        and public.e * key.d % (p - 1) == 1
        and public.e * key.d % (q - 1) == 1
        and (key.dmp1, key.dmq1) == (key.d % (p - 1), key.d % (q - 1))
        and key.iqmp * q % p == 1
    )


@lru_cache(maxsize=1024)
def validity(chain: bytes) -> tuple[datetime, datetime]:
    """From when and until when the first certificate of a chain is valid."""
    certificate = x509.load_pem_x509_certificates(chain)[0]
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def date_problem(chain: bytes, now: datetime) -> str:
    """Why clients refuse a certificate at this moment, with the date; empty when they do not for its dates."""
    begins, ends = validity(chain)
    if now < begins:
        return f"the certificate is not valid before {timestamp(begins)}"
    if now >= ends:
        return f"the certificate expired at {timestamp(ends)}"
    return ""


def pair(secret: Secret) -> tuple[bytes, bytes, str]:
    data = secret.data or {}
    chain, key = data.get("tls.crt", b""), data.get("tls.key", b"")
    return chain, key, pair_problem(chain, key)


@lru_cache(maxsize=1024)
def _authorities_problem(pem: bytes) -> str:
    try:
        x509.load_pem_x509_certificates(pem)
    except ValueError:
        return "ca.crt holds no certificate in PEM"
    return ""


def authorities(source: ConfigMap | Secret) -> tuple[bytes, str]:
    """The certificates of authorities that an object holds, and what is wrong with them."""
    held = (source.data or {}).get("ca.crt", "")
    pem = held.encode() if isinstance(held, str) else held
    return pem, _authorities_problem(pem)
