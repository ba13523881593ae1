"""Certificates and private keys of users: checked when they are set, so that no handshake fails by them."""

from __future__ import annotations

import ssl

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

from seamark_edge.edge.authority import server_context

MAX_PEM = 64 * 1024  # characters
MAX_CHAIN = 16  # certificates
MAX_RSA_BITS = 4096  # every handshake signs with the key, on the event loop

_PROBE = b"the key belongs to the certificate"


class BadPair(ValueError):
    """A certificate and key that can't serve TLS. The message names the field and never shows the key."""


def check_pair(
    certificate_pem: str, key_pem: str, certificate_field: str = "certificate_pem", key_field: str = "private_key_pem"
) -> x509.Certificate:
    """The leaf of the chain, after chain and key have been parsed, tried together and loaded once."""
    for field, pem in ((certificate_field, certificate_pem), (key_field, key_pem)):
        if len(pem) > MAX_PEM:
            raise BadPair(f"{field} has {len(pem)} characters: at most {MAX_PEM} are allowed")
    leaf, public = _leaf(certificate_pem, certificate_field)
    key = _key(key_pem, key_field)
    try:
        _try_together(key, public)
    except InvalidSignature:
        raise BadPair(f"{key_field} does not belong to the certificate in {certificate_field}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadPair(f"{key_field} can't sign for the certificate in {certificate_field}: {error}") from None
    try:
        server_context(certificate_pem.encode(), key_pem.encode())
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", "") or str(error)
        raise BadPair(f"{certificate_field} and {key_field} can't be loaded for TLS: {reason}") from None
    return leaf


def _leaf(pem: str, field: str) -> tuple[x509.Certificate, PublicKeyTypes]:
    try:
        chain = x509.load_pem_x509_certificates(pem.encode())
        public = chain[0].public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadPair(f"{field} must be a PEM chain of certificates, the server's own first") from None
    if len(chain) > MAX_CHAIN:
        raise BadPair(f"{field} has {len(chain)} certificates: at most {MAX_CHAIN} are allowed")
    if isinstance(public, rsa.RSAPublicKey) and public.key_size > MAX_RSA_BITS:
        raise BadPair(f"{field} has an RSA key of {public.key_size} bits: at most {MAX_RSA_BITS} are allowed")
    return chain[0], public


def _key(pem: str, field: str) -> PrivateKeyTypes:
    try:
        # The library's own check of an RSA key takes up to half a second; the signature below proves more.
        return serialization.load_pem_private_key(pem.encode(), password=None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadPair(f"{field} must be an unencrypted PEM private key") from None


def _try_together(key: PrivateKeyTypes, public: PublicKeyTypes) -> None:
    """A signature of the key that the certificate verifies. InvalidSignature if they do not belong together."""
    match key, public:
        case rsa.RSAPrivateKey(), rsa.RSAPublicKey() if key.key_size == public.key_size:
            scheme = padding.PKCS1v15()
            public.verify(key.sign(_PROBE, scheme, hashes.SHA256()), _PROBE, scheme, hashes.SHA256())
        case ec.EllipticCurvePrivateKey(), ec.EllipticCurvePublicKey() if key.curve.name == public.curve.name:
            algorithm = ec.ECDSA(hashes.SHA256())
            public.verify(key.sign(_PROBE, algorithm), _PROBE, algorithm)
        case ed25519.Ed25519PrivateKey(), ed25519.Ed25519PublicKey():
            public.verify(key.sign(_PROBE), _PROBE)
        case _ if isinstance(public, rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey):
            raise InvalidSignature
        case _:
            raise ValueError("RSA, ECDSA and Ed25519 keys serve TLS")
