"""Keys and certificates that tenants bring: what Envoy would refuse is reported on the listener, in no time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from seamark.families.gateway.certificates.pem import pair_problem


def pem(key: PrivateKeyTypes) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certified(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    """A certificate of this key, by a signer of its own."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a.example.com")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def changed(key: rsa.RSAPrivateKey, **numbers: int) -> rsa.RSAPrivateKey:
    old = key.private_numbers()
    fields = {name: numbers.get(name, getattr(old, name)) for name in ("p", "q", "d", "dmp1", "dmq1", "iqmp")}
    made = rsa.RSAPrivateNumbers(**fields, public_numbers=old.public_numbers)
    return made.private_key(unsafe_skip_rsa_key_validation=True)


def test_a_pair_that_fits_is_good() -> None:
    for key in (rsa_key(), ec.generate_private_key(ec.SECP384R1())):
        assert pair_problem(certified(key), pem(key)) == ""


def test_keys_that_envoy_would_refuse_are_named() -> None:
    small, curve = rsa_key(1024), ec.generate_private_key(ec.SECP256K1())
    assert "from 2048 to 8192 bits" in pair_problem(certified(small), pem(small))
    assert "keys of this kind" in pair_problem(certified(curve), pem(curve))
    edwards = ed25519.Ed25519PrivateKey.generate()
    assert "keys of this kind" in pair_problem(certified(edwards), pem(edwards))


def test_an_rsa_key_whose_numbers_do_not_fit_together_is_named() -> None:
    key = rsa_key()
    other = rsa.generate_private_key(65537, 2048).private_numbers()
    for wrong in ({"d": key.private_numbers().d + 2}, {"dmp1": other.dmp1}, {"iqmp": other.iqmp}):
        assert "do not fit together" in pair_problem(certified(key), pem(changed(key, **wrong)))


def test_a_large_key_costs_no_time() -> None:
    """The library's own check takes seconds for such a key: here it would delay every status."""
    numbers = rsa_key().private_numbers()
    p, q = numbers.p**4, numbers.q**4  # 8192 bits, and not prime: the slowest of tests would have to find out
    public = rsa.RSAPublicNumbers(65537, p * q)
    d = pow(65537, -1, (p - 1) * (q - 1))
    made = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    key = made.private_key(unsafe_skip_rsa_key_validation=True)
    chain, content = certified(key), pem(key)
    began = time.process_time()
    pair_problem(chain, content)
    assert time.process_time() - began < 0.5
    assert "at most" in pair_problem(chain, b"x" * 100_000)
