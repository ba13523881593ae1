"""Certificates and keys: checked when they are set, and harmless if a bad one is met nevertheless."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from structlog.testing import capture_logs

from seamark_edge.edge.authority import Authority
from seamark_edge.edge.certificates import Certificates
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.keypairs import BadPair, check_pair
from seamark_edge.edge.policy import Action, Policy, Rule
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.edge.registry import Entry
from seamark_edge.edge.urls import parse_url
from seamark_edge.store.opening import open_file
from tests.edge.tls import pair

GARBAGE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, password: bytes = b"") -> str:
    protection = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection).decode()


@pytest.fixture(scope="module")
def good() -> tuple[str, str]:
    certificate, key = pair("shop.example.com")
    return certificate.decode(), key.decode()


def terminating(certificate: object, key: object) -> dict[str, object]:
    config = {"server_certificate": certificate, "server_private_key": key}
    return {"on_tcp_connect": [{"actions": [{"type": "terminate-tls", "config": config}]}]}


def test_a_good_pair_is_taken(good: tuple[str, str]) -> None:
    action = parse_policy(terminating(*good)).terminates
    assert action is not None
    assert action.certificate == good


@pytest.mark.parametrize("text", ["no PEM", GARBAGE, "", "\udcff", "-----BEGIN CERTIFICATE-----" * 3000])
def test_a_certificate_that_is_none_is_refused_by_its_path(good: tuple[str, str], text: str) -> None:
    with pytest.raises(Refusal, match=r"on_tcp_connect\[0\]\.actions\[0\]\.config|it is no JSON|bytes"):
        parse_policy(terminating(text, good[1]))


def test_a_key_that_is_none_is_refused_by_its_path(good: tuple[str, str]) -> None:
    other = pem(ec.generate_private_key(ec.SECP256R1()))
    cases = {
        "no PEM": "server_private_key must be an unencrypted PEM private key",
        pem(ec.generate_private_key(ec.SECP256R1()), b"secret"): "server_private_key must be an unencrypted",
        other: "does not belong to the certificate",
        pem(ec.generate_private_key(ec.SECP384R1())): "does not belong to the certificate",
        pem(rsa.generate_private_key(65537, 1024)): "does not belong to the certificate",
    }
    for key, words in cases.items():
        with pytest.raises(Refusal) as caught:
            parse_policy(terminating(good[0], key))
        assert words in caught.value.message
        assert "PRIVATE KEY" not in caught.value.message


def test_a_second_key_in_the_chain_does_not_slip_through(good: tuple[str, str]) -> None:
    other = pem(ec.generate_private_key(ec.SECP256R1()))
    with pytest.raises(BadPair, match="can't be loaded for TLS"):
        check_pair(good[0] + other, good[1])


def test_a_chain_has_a_limit(good: tuple[str, str]) -> None:
    with pytest.raises(BadPair, match="17 certificates: at most 16"):
        check_pair(good[0] * 17, good[1])
    with pytest.raises(BadPair, match="at most 65536"):
        check_pair(good[0], good[1] * 1000)


def test_a_pair_that_can_not_be_loaded_refuses_the_connection_and_is_logged_once(tmp_path: Path) -> None:
    store = open_file(tmp_path / "s.db")
    certificates = Certificates(store, Authority(store))
    policy = Policy("", (Rule((), (Action("terminate-tls", certificate=(GARBAGE, "no key")),)),))
    entry = Entry(id="ep_1", url=parse_url("tls://a.edge.localhost"), binding="public", created="", policy=policy)
    with capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(Refusal, match="certificate of this endpoint can't be used"):
                certificates.context("a.edge.localhost", entry)
    assert len(logs) == 1
    asyncio.run(store.close())
