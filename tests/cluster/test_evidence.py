"""`seamark run` with the console: the evidence behind an object's conditions, for whoever may read the object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from seamark.api.meta import Key
from seamark.cli.main import app
from seamark.cluster.real.plane import ControlPlane
from seamark.cluster.real.ports import Ports
from seamark.families.sample.family import GREETING
from tests.cluster.requests import eventually, install, request

START = "from seamark.cli.main import main; main()"
GREETINGS = "/apis/sample.seamark.dev/v1alpha1/namespaces/{}/greetings"


def account(plane: ControlPlane, namespace: str, folder: Path) -> Path:
    """A kubeconfig with exactly the rights that `seamark roles --console` prints."""
    printed = CliRunner().invoke(app, ["roles", "sample", "--console", "-n", namespace], catch_exceptions=False)
    plane.kubectl("apply", "-f", "-", stdin=printed.output)
    token = plane.kubectl("create", "token", "seamark", "-n", namespace).strip()
    cluster = {"server": plane.url, "certificate-authority": str(plane.ca)}
    config = {
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": {"token": token}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


@contextmanager
def operator(kubeconfig: Path) -> Iterator[str]:
    """Its console's address."""
    with Ports("127.0.0.1") as ports:
        address = f"127.0.0.1:{ports.reserve()}"
        flags = ["--families", "sample", "--no-leader-election", "--health-address=", f"--console={address}"]
        command = [sys.executable, "-c", START, "run", *flags, "--kubeconfig", str(kubeconfig)]
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            yield f"http://{address}"
        finally:
            running.terminate()
            assert running.wait(30) == 0


def opened(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as page:
            return b"<title>" in page.read()
    except OSError:
        return False


def proof(url: str, token: str, key: Key) -> tuple[int, Any]:
    body = json.dumps([{"kind": "greeting", "namespace": key.namespace, "name": key.name}]).encode()
    asked = urllib.request.Request(f"{url}/api/evidence", body, {"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.fixture
def greeted(control_plane: ControlPlane, namespace: str) -> Key:
    install(control_plane, GREETING)
    body = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "metadata": {"name": "hello"}}
    made = request(control_plane, "POST", GREETINGS.format(namespace), {**body, "spec": {"text": "a", "board": "quay"}})
    assert made.code == 201, made.body
    return Key(namespace, "hello")


def test_the_operator_tells_what_it_knows_to_whoever_may_read_the_object(
    control_plane: ControlPlane, greeted: Key, tmp_path: Path
) -> None:
    with operator(account(control_plane, greeted.namespace, tmp_path)) as url:
        eventually(lambda: opened(url), "the console is served", 60)
        admin, alice = control_plane.user("admin").token, control_plane.user("alice").token
        eventually(lambda: "answered" in str(proof(url, admin, greeted)[1]), "there is evidence", 60)
        assert proof(url, alice, greeted) == (200, [[]])  # she may not read it
        assert proof(url, "nobody's", greeted)[0] == 401
        told = explained(control_plane, greeted, url)
        assert any("answered" in one for one in told["tree"]["evidence"])
        assert told["note"] == ""
        assert told["tree"]["owners"]["spec.text"]
    assert "can't be asked" in explained(control_plane, greeted, url)["note"]


def explained(plane: ControlPlane, key: Key, url: str) -> dict[str, Any]:
    command = [sys.executable, "-c", START, "explain", f"greeting/{key.name}", "-n", key.namespace, "-o", "json"]
    environment = {**os.environ, "SEAMARK_OPERATOR": url}
    done = subprocess.run(
        [*command, "--kubeconfig", str(plane.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
