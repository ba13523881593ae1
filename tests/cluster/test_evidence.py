"""The evidence behind an object's conditions, for users who may read the object: from `seamark run` with the console in
it, and through a console that runs apart."""

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

from seamark.cli.main import app
from seamark.families.sample.family import GREETING
from seamark_cluster.real.plane import ControlPlane
from seamark_cluster.real.ports import Ports
from seamark_cluster.real.users import record_operator_url
from seamark_runtime.api.meta import Key
from tests.cluster.requests import eventually, install, request

START = "from seamark.cli.main import main; main()"
GREETINGS = "/apis/sample.seamark.dev/v1alpha1/namespaces/{}/greetings"


def account(plane: ControlPlane, namespace: str, folder: Path, part: str) -> Path:
    """A kubeconfig with exactly the rights that `seamark roles --console`, or `--evidence`, prints."""
    printed = CliRunner().invoke(app, ["roles", "sample", f"--{part}", "-n", namespace], catch_exceptions=False)
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
def operator(kubeconfig: Path, part: str) -> Iterator[str]:
    """The address of this part of it."""
    with Ports("127.0.0.1") as ports:
        address = f"127.0.0.1:{ports.reserve()}"
        flags = ["--families", "sample", "--no-leader-election", "--health-address=", f"--{part}={address}"]
        with program("run", *flags, "--kubeconfig", str(kubeconfig)) as running:
            yield address
            running.terminate()
            assert running.wait(30) == 0


@contextmanager
def console(kubeconfig: Path, operators: str) -> Iterator[str]:
    """Its address."""
    with Ports("127.0.0.1") as ports:
        address = f"127.0.0.1:{ports.reserve()}"
        flags = [f"--address={address}", f"--operators={operators}", "--kubeconfig", str(kubeconfig)]
        with program("console", *flags):
            eventually(lambda: opened(f"http://{address}"), "the console is served", 60)
            yield f"http://{address}"


@contextmanager
def program(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", START, *arguments]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.terminate()
        running.wait(30)


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
    with operator(account(control_plane, greeted.namespace, tmp_path, "console"), "console") as address:
        url = f"http://{address}"
        eventually(lambda: opened(url), "the console is served", 60)
        admin, alice = control_plane.user("admin").token, control_plane.user("alice").token
        eventually(lambda: "answered" in str(proof(url, admin, greeted)[1]), "there is evidence", 60)
        assert proof(url, alice, greeted) == (200, [[]])  # she may not read it
        assert proof(url, "nobody's", greeted)[0] == 401
        told = explained(control_plane, greeted, url)
        assert any("answered" in one for one in told["tree"]["evidence"])
        assert told["note"] == "Whether an operator leads is not known: there is no Lease of one."
        assert told["tree"]["owners"]["spec.text"]
    assert "can't be asked" in explained(control_plane, greeted, url)["note"]


def test_a_console_that_runs_apart_asks_the_operator_on_behalf_of_whoever_asks_it(
    control_plane: ControlPlane, greeted: Key, tmp_path: Path
) -> None:
    own = account(control_plane, greeted.namespace, tmp_path, "evidence")
    admin, alice = control_plane.user("admin").token, control_plane.user("alice").token
    with operator(own, "evidence") as operators, console(control_plane.kubeconfig, operators) as url:
        eventually(lambda: "answered" in str(proof(url, admin, greeted)[1]), "there is evidence", 60)
        assert proof(url, alice, greeted) == (200, [[]])  # the operator asks what she may read, too
        assert proof(f"http://{operators}", alice, greeted) == (200, [[]])
        assert proof(f"http://{operators}", "nobody's", greeted)[0] == 401
        named = tmp_path / "named"
        named.write_text(control_plane.kubeconfig.read_text())
        record_operator_url(named, url)
        control_plane.kubectl("--kubeconfig", str(named), "get", "namespaces")  # which kubectl does not mind
        assert any("answered" in one for one in explained(control_plane, greeted, "", named)["tree"]["evidence"])
        seen = urllib.request.Request(
            f"{url}/api/object?kind=greeting&namespace={greeted.namespace}&name={greeted.name}",
            headers={"Authorization": f"Bearer {admin}"},
        )
        with urllib.request.urlopen(seen, timeout=10) as page:
            assert any("answered" in one for one in json.load(page)["tree"]["evidence"])
    with console(control_plane.kubeconfig, operators) as url:
        code, told = proof(url, admin, greeted)
        assert (code, operators in told["error"]) == (502, True)
        assert "answered 502: this is what the cluster knows" in explained(control_plane, greeted, url)["note"]
    with console(control_plane.kubeconfig, "") as url:
        assert proof(url, admin, greeted)[0] == 404


def explained(plane: ControlPlane, key: Key, url: str, kubeconfig: Path | None = None) -> dict[str, Any]:
    command = [sys.executable, "-c", START, "explain", f"greeting/{key.name}", "-n", key.namespace, "-o", "json"]
    environment = {**os.environ, "SEAMARK_OPERATOR": url}
    done = subprocess.run(
        [*command, "--kubeconfig", str(kubeconfig or plane.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
