"""The certificate in a Secret: good, due, over, or none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from seamark.families.bindings.model.certificates import EcCertificates, Validity, held
from seamark_runtime.api.core import Secret

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MAKER = EcCertificates()


def signed(csr: str, begins: datetime, days: float) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "edge")])
    request = x509.load_pem_x509_csr(csr.encode())
    assert request.is_signature_valid
    made = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(name)
        .public_key(request.public_key())
        .serial_number(1)
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize(
    ("age", "validity", "again"),
    [(0, Validity.GOOD, 60), (59, Validity.GOOD, 1), (61, Validity.DUE, 29), (90, Validity.EXPIRED, float("inf"))],
)
def test_a_certificate_of_ninety_days_is_due_after_sixty(age: int, validity: Validity, again: float) -> None:
    csr, key = MAKER.request()
    pair = {"tls.crt": signed(csr, NOW - timedelta(days=age), 90), "tls.key": key.encode()}
    found = held(Secret(data=pair), MAKER, NOW)
    assert found.validity is validity
    assert found.again == (again if again == float("inf") else again * 86400)


def test_what_is_no_certificate_or_not_of_its_key_is_none() -> None:
    csr, key = MAKER.request()
    certificate, (_, other) = signed(csr, NOW, 90), MAKER.request()
    for data in (
        None,
        {},
        {"tls.crt": certificate},
        {"tls.crt": b"nonsense", "tls.key": key.encode()},
        {"tls.crt": certificate, "tls.key": b"nonsense"},
        {"tls.crt": certificate, "tls.key": other.encode()},
    ):
        assert held(Secret(data=data), MAKER, NOW).validity is Validity.MISSING
    assert held(None, MAKER, NOW).validity is Validity.MISSING
