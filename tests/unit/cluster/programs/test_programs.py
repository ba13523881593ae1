"""The programs in place of known images answer as the images do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seamark_cluster.kubelet.images import Images
from seamark_cluster.programs import demos, echoes, files
from seamark_cluster.programs.http import Request, Response, options
from seamark_cluster.programs.images import KNOWN


def ask(respond: Callable[[Request], Response], target: str, *headers: tuple[str, str], body: bytes = b"") -> Response:
    return respond(Request("GET", target, "HTTP/1.1", headers, body, "10.0.0.9"))


@pytest.mark.parametrize(
    "name",
    [
        "nginx",
        "nginx:1.27-alpine",
        "docker.io/library/nginx:1",
        "docker.io/nginx",
        "nginx@sha256:00",
        "redis:7",
        "busybox",
    ],
)
def test_a_known_image_is_found_by_each_of_its_usual_names(name: str) -> None:
    assert Images().beside(KNOWN).find(name) is not None


@pytest.mark.parametrize("name", ["nginx-ingress:1", "me/nginx", "ghcr.io/library/nginx"])
def test_an_image_with_a_similar_name_is_not_taken_for_it(name: str) -> None:
    assert Images().beside(KNOWN).find(name) is None


def test_options_have_one_dash_or_two_and_their_values_behind_them() -> None:
    assert options(["-listen=:80", "--port", "9", "--name=a=b"]) == {"listen": ":80", "port": "9", "name": "a=b"}


def test_http_echo_answers_its_text_at_every_path() -> None:
    (site,) = echoes.http_echo(["-text=hi", "-listen=:81"], {})
    assert (site.port, ask(site.respond, "/any").body) == (81, b"hi\n")


def test_podinfo_answers_with_its_state_and_its_environment() -> None:
    (site,) = demos.podinfo([], {"PODINFO_PORT": "9000", "A": "b"})
    assert site.port == 9000
    assert json.loads(ask(site.respond, "/readyz").body) == {"status": "OK"}
    assert "A=b" in json.loads(ask(site.respond, "/env").body)
    assert ask(site.respond, "/status/503").status == 503
    assert ask(site.respond, "/status/12345").status == 404


def test_whoami_shows_the_request_as_received() -> None:
    (site,) = demos.whoami(["--port", "8080", "--name", "one"], {"A": "b"})
    text = ask(site.respond, "/p?q=1", ("Host", "here")).body.decode()
    assert text.startswith("Name: one\n")
    assert "GET /p?q=1 HTTP/1.1\nHost: here\n" in text
    assert json.loads(ask(site.respond, "/api?env=true").body)["environ"] == ["A=b"]


def test_http_https_echo_answers_with_the_request() -> None:
    request = ask(echoes.mirrored, "/a?b=c", ("Content-Type", "application/json"), body=b'{"d": 1}')
    found = json.loads(request.body)
    assert (found["path"], found["query"], found["json"]) == ("/a", {"b": "c"}, {"d": 1})


def test_a_static_server_has_the_files_of_its_folder_and_none_beside_it(tmp_path: Path) -> None:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "index.html").write_text("home")
    (tmp_path / "secret").write_text("no")
    (site,) = files.httpd(["-f", "-p", "8080", "-h", str(tmp_path / "www")], {})
    assert ask(site.respond, "/").body == b"home"
    assert ask(site.respond, "/absent").status == 404
    assert ask(site.respond, "/%2e%2e/secret").status == 400
