"""Kubeconfig files: merged as kubectl does it, wrong ones named, and ID tokens renewed at their issuer."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from seamark_runtime.connection import Connection, from_kubeconfig
from seamark_runtime.errors import UserError
from seamark_runtime.kubeconfig import KubeconfigError, read
from tests.unit.runtime.test_connection import encoded, kubeconfig, loaded


def written(path: Path, document: Mapping[str, Any]) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(dict(document)))
    return str(path)


def test_of_several_files_the_first_that_defines_an_entry_wins(tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "config", {"users": [{"name": "u", "user": {"token": "first"}}]})
    (tmp_path / "b").mkdir()
    second = kubeconfig(tmp_path / "b", user={"token": "second"})
    assert loaded(os.pathsep.join((first, second))).token == "first"
    assert loaded(os.pathsep.join((second, first))).token == "second"


def test_the_first_current_context_wins(tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "config", {"current-context": "there"})
    (tmp_path / "b").mkdir()
    with pytest.raises(UserError, match=r"there is no context there: its contexts are: here"):
        loaded(os.pathsep.join((first, kubeconfig(tmp_path / "b"))))


def test_a_path_is_relative_to_the_file_that_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "ca.crt").write_text("CA")
    path = kubeconfig(folder, cluster={"certificate-authority": "ca.crt"})
    assert loaded(path).ca_pem == "CA"


def test_data_goes_before_a_file(tmp_path: Path) -> None:
    cluster = {"certificate-authority": "nowhere", "certificate-authority-data": encoded("DATA")}
    assert loaded(kubeconfig(tmp_path, cluster=cluster)).ca_pem == "DATA"


def test_a_user_need_not_be_named(tmp_path: Path) -> None:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:8001"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c"}}],
    }
    assert loaded(written(tmp_path / "config", document), "here") == Connection("http://127.0.0.1:8001")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clusters": "c"}, "clusters must be a list"),
        ({"users": [{"user": {}}]}, "each of users must have a name and a user"),
        ({"users": [{"name": "u", "user": "me"}]}, "each of users must have a name and a user"),
        ({"contexts": ["here"]}, "each of contexts must have a name and a context"),
        ({"clusters": []}, "there is no cluster c"),
        ({"users": []}, "there is no user u"),
        ({"clusters": [{"name": "c", "cluster": {}}]}, "cluster c has no server"),
        ({"clusters": [{"name": "c", "cluster": {"server": 7}}]}, "cluster c: server must be a string"),
        ({"current-context": ""}, "it has no current-context"),
        ({"users": [{"name": "u", "user": {"tokenFile": "gone"}}]}, "user u: tokenFile gone can't be read"),
        ({"users": [{"name": "u", "user": {"client-key-data": "%%"}}]}, "user u: client-key-data is not base64"),
        ({"users": [{"name": "u", "user": {"auth-provider": {"name": "gcp"}}}]}, "auth-provider gcp is not supported"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: Mapping[str, Any], words: str) -> None:
    document = yaml.safe_load(Path(kubeconfig(tmp_path)).read_text())
    path = written(tmp_path / "changed", {**document, **change})
    with pytest.raises(UserError) as caught:
        loaded(path)
    assert f"kubeconfig {path}: " in caught.value.message
    assert words in caught.value.message


@pytest.mark.parametrize("text", ["[" * 5000, "a: &a [*a]\n- ", "\x00", "!!python/object:os.system {}"])
def test_a_document_that_is_no_kubeconfig_is_an_error_of_its_own(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(KubeconfigError):
        read(str(tmp_path / "config"))


def jwt(expires: int) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"eyJhbGciOiJSUzI1NiJ9.{claims}.c2lnbmF0dXJl"


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def from_issuer(folder: Path, token: Answer) -> Connection:
    """The connection of a user whose ID token has expired, with an issuer on this machine."""

    async def program() -> Connection:
        app = web.Application()
        runner = web.AppRunner(app)

        async def discovery(request: web.Request) -> web.Response:
            return web.json_response({"token_endpoint": str(request.url.origin() / "token")})

        app.router.add_get("/issuer/.well-known/openid-configuration", discovery)
        app.router.add_post("/token", token)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            issuer = f"http://127.0.0.1:{runner.addresses[0][1]}/issuer/"
            config = {
                "client-id": "me",
                "client-secret": "s3cret",
                "idp-issuer-url": issuer,
                "id-token": jwt(1),
                "refresh-token": "r3fresh",
            }
            path = kubeconfig(folder, user={"auth-provider": {"name": "oidc", "config": config}})
            return await from_kubeconfig(path, "")
        finally:
            await runner.cleanup()

    return asyncio.run(program())


def test_an_expired_id_token_is_renewed_at_its_issuer(tmp_path: Path) -> None:
    fresh = jwt(4_000_000_000)
    forms: list[dict[str, Any]] = []

    async def token(request: web.Request) -> web.Response:
        forms.append(dict(await request.post()))
        return web.json_response({"id_token": fresh})

    assert from_issuer(tmp_path, token).token == fresh
    assert forms == [
        {"grant_type": "refresh_token", "refresh_token": "r3fresh", "client_id": "me", "client_secret": "s3cret"}
    ]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, b"r3fresh is revoked", "answered with status 403"),
        (200, b"<html>", "did not answer with a JSON object"),
        (200, b"{}", "returned no id_token"),
        (200, b"[" * 2_000_000, "did not answer with a JSON object"),
    ],
    ids=["refused", "html", "no token", "endless"],
)
def test_an_issuer_that_gives_no_token_is_named_and_its_words_are_not(
    tmp_path: Path, status: int, body: bytes, words: str
) -> None:
    async def token(_request: web.Request) -> web.Response:
        return web.Response(status=status, body=body)

    with pytest.raises(UserError, match=words) as caught:
        from_issuer(tmp_path, token)
    assert "r3fresh" not in caught.value.message
    assert "s3cret" not in caught.value.message
