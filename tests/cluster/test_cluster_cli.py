"""seamark cluster, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from seamark_cluster.commands.cluster import app, parse_user, state_directory
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.errors import UserError


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield tmp_path
    for directory in tmp_path.glob("seamark/cluster/*"):
        ControlPlane.attach(directory).stop()


def test_up_status_kubeconfig_down(state: Path) -> None:
    assert "Kubernetes v1.36.3 is up at https://127.0.0.1:" in run("up", "--user", "alice=dev", "--no-controllers")
    plane = ControlPlane.attach(state_directory("default"))
    with pytest.raises(UserError, match="cluster default is up"):
        run("up")
    shown = run("status")
    assert str(plane.api_server.pid) in shown
    assert "users: admin, alice" in shown
    assert run("kubeconfig").strip() == str(plane.kubeconfig)
    config = yaml.safe_load(run("kubeconfig", "--user", "alice", "--show"))
    assert [user["name"] for user in config["users"]] == ["alice"]
    who = json.loads(plane.kubectl("auth", "whoami", "-ojson", user="alice"))
    assert "dev" in who["status"]["userInfo"]["groups"]
    plane.etcd.kill()
    result = CliRunner().invoke(app, ["status"])
    assert (result.exit_code, "not running" in result.output) == (1, True)
    assert run("down") == "cluster default is down\n"
    assert not state_directory("default").exists()


def test_what_a_machine_left_when_it_went_down_is_replaced(state: Path) -> None:
    run("up", "--no-controllers")
    plane = ControlPlane.attach(state_directory("default"))
    for component in plane.components:
        component.kill()
    run("up", "--no-controllers")
    assert ControlPlane.attach(state_directory("default")).api_server.alive


def test_nothing_is_up(state: Path) -> None:
    for command in ("status", "kubeconfig", "down"):
        with pytest.raises(UserError, match="`seamark cluster up` starts one"):
            run(command)


def test_a_name_that_leads_elsewhere_is_refused(state: Path) -> None:
    with pytest.raises(UserError, match="is not a valid cluster name"):
        run("down", "--name", "../../etc")


def test_users_are_named_with_their_groups() -> None:
    alice = parse_user("system:x:alice=dev,ops")
    assert (alice.name, alice.groups) == ("system:x:alice", ("dev", "ops"))
    with pytest.raises(UserError, match="is not a user"):
        parse_user("=dev")


def test_fetch_says_where_the_programs_are(state: Path) -> None:
    assert (Path(run("fetch").strip()) / "kube-apiserver").exists()
