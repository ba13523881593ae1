"""Certificates of an installation: one authority, renewed in time, never without need."""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from seamark_runtime.signing import CA_CRT, CRT, KEY, due, fresh, issue, make_authority

NOW = datetime.now(UTC)
HOSTS = ("seamark-xds.home.svc", "127.0.0.1")


def test_a_certificate_is_good_for_its_hosts_and_both_ends_of_a_connection() -> None:
    ca = make_authority(NOW)
    made = issue(ca, HOSTS, NOW)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in made.items():
            Path(folder, name).write_bytes(content)
        server, client = (
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
            ssl.create_default_context(cafile=f"{folder}/{CA_CRT}"),
        )
        for context in (server, client):
            context.load_cert_chain(f"{folder}/{CRT}", f"{folder}/{KEY}")
        server.load_verify_locations(f"{folder}/{CA_CRT}")
        server.verify_mode = ssl.CERT_REQUIRED
    handshake(server, client, HOSTS[0])


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> None:
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(down, up, server_hostname=host), server.wrap_bio(up, down, server_side=True)]
    left = list(ends)
    for _ in range(10):
        for end in list(left):
            try:
                end.do_handshake()
                left.remove(end)
            except ssl.SSLWantReadError:
                continue
        if not left:
            return
    raise AssertionError("no handshake")


def test_it_is_made_anew_when_a_third_of_its_life_is_left() -> None:
    ca = make_authority(NOW)
    made = issue(ca, HOSTS, NOW)
    assert not due(made, ca[CA_CRT], HOSTS, NOW + timedelta(days=200))
    assert due(made, ca[CA_CRT], HOSTS, NOW + timedelta(days=250))
    assert fresh(ca[CA_CRT], NOW + timedelta(days=2000))


def test_it_is_made_anew_for_other_hosts_and_under_another_authority() -> None:
    ca = make_authority(NOW)
    made = issue(ca, HOSTS, NOW)
    assert due(made, ca[CA_CRT], (*HOSTS, "edge.example.com"), NOW)
    assert due(made, make_authority(NOW)[CA_CRT], HOSTS, NOW)
    assert due({}, ca[CA_CRT], HOSTS, NOW)
    assert due({**made, CRT: b"not a certificate"}, ca[CA_CRT], HOSTS, NOW)


def test_the_authority_signs_and_nothing_else_of_ours_does() -> None:
    ca = make_authority(NOW)
    leaf = x509.load_pem_x509_certificate(issue(ca, HOSTS, NOW)[CRT])
    root = x509.load_pem_x509_certificate(ca[CA_CRT])
    basic = x509.BasicConstraints
    assert root.extensions.get_extension_for_class(basic).value.ca
    assert not leaf.extensions.get_extension_for_class(basic).value.ca
    leaf.verify_directly_issued_by(root)
