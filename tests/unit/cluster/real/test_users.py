"""Users, their kubeconfig and certificates."""

from __future__ import annotations

import base64
import ssl
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from seamark_cluster.real.flags import Options
from seamark_cluster.real.pki import Pki
from seamark_cluster.real.users import User, kubeconfig, token_file, write_private
from seamark_runtime.errors import UserError


def test_tokens_differ_and_do_not_show() -> None:
    one, other = User("alice"), User("alice")
    assert one.token != other.token
    assert one.token not in repr(one)


def test_the_token_file_names_users_with_their_groups() -> None:
    users = [User("alice", ("a", "b"), "t1"), User("bob", (), "t2")]
    assert token_file(users) == 't1,alice,alice,"a,b"\nt2,bob,bob,""\n'


def test_a_kubeconfig_has_a_context_for_each_user(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    config = yaml.safe_load(kubeconfig("https://127.0.0.1:1", pki.ca_cert, [User("admin"), User("bob", token="t")]))
    assert config["current-context"] == "admin"
    assert [context["name"] for context in config["contexts"]] == ["admin", "bob"]
    assert config["users"][1] == {"name": "bob", "user": {"token": "t"}}
    authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
    ssl.create_default_context(cadata=base64.b64decode(authority).decode())


def test_secrets_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    write_private(tmp_path / "tokens", "secret")
    pki = Pki(tmp_path / "pki")
    for path in (tmp_path / "tokens", pki.ca_key, pki.client("alice")[1], pki.signing_key("sa")[0]):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_client_certificate_carries_the_user_and_their_groups(tmp_path: Path) -> None:
    path, _ = Pki(tmp_path).client("system:serviceaccount:a:b", ["one", "two"])
    subject = x509.load_pem_x509_certificate(path.read_bytes()).subject
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["system:serviceaccount:a:b"]
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["one", "two"]


def test_an_authority_that_is_there_is_used_again(tmp_path: Path) -> None:
    first = Pki(tmp_path).ca_cert.read_bytes()
    again = Pki(tmp_path)
    again.server("s", ["127.0.0.1", "localhost"])
    assert again.ca_cert.read_bytes() == first


@pytest.mark.parametrize(
    ("options", "advertised", "connect"),
    [
        (Options(), "127.0.0.1", "127.0.0.1"),
        (Options(bind_address="0.0.0.0"), "127.0.0.1", "127.0.0.1"),
        (Options(bind_address="0.0.0.0", advertise_address="10.1.0.1"), "10.1.0.1", "10.1.0.1"),
        (Options(advertise_address="10.1.0.1"), "10.1.0.1", "127.0.0.1"),
    ],
)
def test_requested_addresses_are_allocated(options: Options, advertised: str, connect: str) -> None:
    assert (options.advertised, options.connect) == (advertised, connect)


def test_a_name_is_no_address() -> None:
    with pytest.raises(UserError, match="'localhost' is not an IP address"):
        Options(bind_address="localhost")
