"""A kubeconfig in full, and the errors when it is wrong."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import select
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from seamark_runtime import connection
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import Connection, Load, connect, from_kubeconfig, in_cluster
from seamark_runtime.errors import UserError
from seamark_runtime.renewal import Renewal


def kubeconfig(
    folder: Path, *, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, name: str = "config"
) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / name
    path.write_text(yaml.safe_dump(document))
    return str(path)


def loaded(path: str, context: str = "") -> Connection:
    return asyncio.run(from_kubeconfig(path, context))


@pytest.mark.parametrize(
    ("extensions", "operator"),
    [
        ([{"name": "seamark.dev/operator", "extension": {"url": "http://127.0.0.1:8090"}}], "http://127.0.0.1:8090"),
        ([{"name": "another.dev", "extension": {"url": "http://127.0.0.1:1"}}], ""),
        ([{"name": "seamark.dev/operator", "extension": {"url": 7}}], ""),
        ([{"name": "seamark.dev/operator", "extension": "http://127.0.0.1:8090"}, "odd"], ""),
        (None, ""),
    ],
)
def test_where_the_operator_is_asked(tmp_path: Path, extensions: object, operator: str) -> None:
    found = loaded(kubeconfig(tmp_path, user={"token": "t1"}, cluster={"extensions": extensions}))
    assert found.operator == operator


async def again(load: Load) -> Connection:
    return await load()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_token(tmp_path: Path) -> None:
    found = loaded(kubeconfig(tmp_path, user={"token": "t1"}))
    assert found.base_url == "https://127.0.0.1:6443"
    assert found.token == "t1"
    assert found.verify


def test_a_token_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file")
    assert loaded(kubeconfig(tmp_path, user={"tokenFile": str(tmp_path / "token")})).token == "from-file"


def test_certificates_given_as_data(tmp_path: Path) -> None:
    found = loaded(
        kubeconfig(
            tmp_path,
            user={"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY")},
            cluster={"certificate-authority-data": encoded("CA")},
        )
    )
    assert (found.ca_pem, found.certificate_pem, found.key_pem) == ("CA", "CERT", "KEY")


def test_certificates_given_as_files_beside_the_kubeconfig(tmp_path: Path) -> None:
    for name in ("ca.crt", "me.crt", "me.key"):
        (tmp_path / name).write_text(name)
    found = loaded(
        kubeconfig(
            tmp_path,
            user={"client-certificate": "me.crt", "client-key": "me.key"},
            cluster={"certificate-authority": "ca.crt"},
        )
    )
    assert (found.ca_pem, found.certificate_pem, found.key_pem) == ("ca.crt", "me.crt", "me.key")


def test_the_proxy_the_server_name_and_no_verification(tmp_path: Path) -> None:
    options = {
        "proxy-url": "http://127.0.0.1:3128",
        "tls-server-name": "api.example",
        "insecure-skip-tls-verify": True,
    }
    found = loaded(kubeconfig(tmp_path, cluster=options))
    assert (found.proxy, found.server_name, found.verify) == ("http://127.0.0.1:3128", "api.example", False)


def plugin(folder: Path, status: dict[str, Any] | None, code: int = 0) -> dict[str, Any]:
    answer = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}
    script = folder / "plugin.py"
    script.write_text(
        "import pathlib, sys\n"
        f"counter = pathlib.Path({str(folder / 'calls')!r})\n"
        "calls = len(counter.read_text()) + 1 if counter.exists() else 1\n"
        "counter.write_text('x' * calls)\n"
        f"print({json.dumps(answer)!r}.replace('CALLS', str(calls)))\n"
        f"sys.exit({code})\n"
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(script)],
            "interactiveMode": "Never",
        }
    }


def test_an_exec_plugin_is_asked_again_at_each_load(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, user=plugin(tmp_path, {"token": "token-CALLS"}))

    async def program() -> list[str]:
        load = connect(path)
        return [(await load()).token, (await load()).token]

    assert asyncio.run(program()) == ["token-1", "token-2"]


def test_an_exec_plugin_that_fails_is_named(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, user=plugin(tmp_path, None, code=3))
    with pytest.raises(UserError, match="gave no credentials: run it by hand"):
        loaded(path)


@pytest.mark.parametrize(
    ("status", "words"),
    [({}, "neither a token nor a certificate"), ({"clientCertificateData": "x"}, "neither a token nor a certificate")],
)
def test_an_exec_plugin_without_credentials_is_named(tmp_path: Path, status: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=f"{words}.* gave no credentials: run it by hand"):
        loaded(kubeconfig(tmp_path, user=plugin(tmp_path, status)))


def test_an_exec_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "certificate", "clientKeyData": "key"}
    found = loaded(kubeconfig(tmp_path, user=plugin(tmp_path, status)))
    assert (found.certificate_pem, found.key_pem, found.token) == ("certificate", "key", "")


def test_an_exec_plugin_that_hangs_is_killed_with_its_group_at_the_deadline(tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    script = tmp_path / "sleeps.sh"
    script.write_text(f"sleep 600 &\necho $$ $! > {told}\nwait\n")
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "/bin/sh",
            "args": [str(script)],
            "interactiveMode": "Never",
        }
    }
    path = kubeconfig(tmp_path, user=user)

    async def program() -> None:
        renewal = Renewal(connect(path), _unused, SystemClock())
        loading = asyncio.get_running_loop().create_task(renewal.first())
        plugin_pid, child_pid = map(int, (await asyncio.to_thread(told.read_text)).split())
        child = os.pidfd_open(child_pid)  # readable when the process has ended
        loading.cancel()  # what the deadline of a load does
        with pytest.raises(asyncio.CancelledError):
            await loading
        with pytest.raises(ProcessLookupError):  # reaped: not even a zombie
            os.kill(plugin_pid, 0)
        assert select.select([child], [], [], 10.0)[0] == [child]
        os.close(child)

    asyncio.run(program())


async def _unused(_connection: Connection) -> None:
    raise AssertionError("a plugin that hangs gives no connection")


def test_no_kubeconfig_says_where_it_was_looked_for_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no kubeconfig at .*/nowhere: name one with --kubeconfig"):
        loaded(str(tmp_path / "nowhere"))


def test_the_environment_names_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path, user={"token": "t1"}))
    assert loaded("").token == "t1"


def test_the_home_directory_has_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"no kubeconfig at ~/\.kube/config"):
        loaded("")
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube", user={"token": "home"})
    assert loaded("").token == "home"


def test_an_unknown_context_is_told_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere.*its contexts are: here"):
        loaded(kubeconfig(tmp_path), "nowhere")


@pytest.mark.parametrize("text", ["{not yaml", "just words", "", "- a\n- b\n"])
def test_a_file_that_is_no_kubeconfig_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(UserError) as caught:
        loaded(str(tmp_path / "config"))
    assert str(tmp_path / "config") in caught.value.message


def test_inside_a_pod_the_token_is_read_again_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "POD_SECRETS", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "token").write_text("one\n")
    load = connect()
    assert load is in_cluster
    first = asyncio.run(again(load))
    assert first == Connection("https://[fd00::1]:443", ca_pem="CA", token="one")
    (tmp_path / "token").write_text("two\n")
    second = asyncio.run(again(load))
    assert second.token == "two"
    assert second.same_channel(first)


def test_a_kubeconfig_that_is_named_goes_before_the_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "POD_SECRETS", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    (tmp_path / "token").write_text("pod")
    load = connect(kubeconfig(tmp_path, user={"token": "mine"}))
    assert asyncio.run(again(load)).token == "mine"


def test_a_connection_shows_no_secret() -> None:
    shown = repr(Connection("https://x", certificate_pem="C", key_pem="K3Y", token="T0KEN"))
    assert "T0KEN" not in shown
    assert "K3Y" not in shown


def test_a_token_and_where_the_operator_is_can_change_without_new_connections() -> None:
    one = Connection("https://x", ca_pem="A", token="1")
    assert one.same_channel(Connection("https://x", ca_pem="A", token="1", operator="http://127.0.0.1:1"))
    assert one.same_channel(Connection("https://x", ca_pem="A", token="2"))
    assert not one.same_channel(Connection("https://x", ca_pem="B", token="1"))


def test_an_oidc_token_that_is_still_valid(tmp_path: Path) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 4_000_000_000}).encode()).decode().rstrip("=")
    jwt = f"eyJhbGciOiJSUzI1NiJ9.{claims}.c2lnbmF0dXJl"
    options = {"client-id": "x", "client-secret": "y", "idp-issuer-url": "https://127.0.0.1:1", "id-token": jwt}
    path = kubeconfig(tmp_path, user={"auth-provider": {"name": "oidc", "config": options}})
    assert loaded(path).token == jwt


def test_an_oidc_token_that_can_neither_be_used_nor_renewed_is_told(tmp_path: Path) -> None:
    options = {"client-id": "x", "client-secret": "y", "idp-issuer-url": "https://127.0.0.1:1"}
    path = kubeconfig(tmp_path, user={"auth-provider": {"name": "oidc", "config": options}})
    with pytest.raises(UserError, match="cannot refresh without refresh-token"):
        loaded(path)
