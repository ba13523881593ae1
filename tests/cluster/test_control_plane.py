"""The control plane that everything else is tested on keeps its own promises."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import threading
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from seamark_cluster.real import ports
from seamark_cluster.real.plane import ControlPlane, Options
from seamark_cluster.real.process import locked
from seamark_runtime.errors import SeamarkError, UserError
from tests.cluster.requests import eventually, request

CONFIGMAPS = "/api/v1/namespaces/{}/configmaps"

OWNER = """
from seamark_cluster.real.plane import ControlPlane, Options
plane = ControlPlane(Options(controllers=False))
plane.start()
print(plane.directory, flush=True)
input()
"""


def port_of(plane: ControlPlane) -> int:
    return int(plane.url.rsplit(":", 1)[1])


def test_it_says_its_version(control_plane: ControlPlane) -> None:
    assert request(control_plane, "GET", "/version").body["gitVersion"] == "v1.36.3"


def test_its_port_is_below_the_ephemeral_range_and_on_loopback(control_plane: ControlPlane) -> None:
    assert control_plane.url.startswith("https://127.0.0.1:")
    assert port_of(control_plane) < 32768


def test_a_user_without_a_role_may_do_nothing_until_given_one(control_plane: ControlPlane, namespace: str) -> None:
    path = CONFIGMAPS.format(namespace)
    assert request(control_plane, "GET", path, user="alice").code == 403
    control_plane.kubectl("create", "rolebinding", "view", "--clusterrole=view", "--user=alice", f"-n{namespace}")
    eventually(lambda: request(control_plane, "GET", path, user="alice").code == 200, "alice may read")
    assert request(control_plane, "POST", path, {"metadata": {"name": "a"}}, user="alice").code == 403


def test_a_user_is_known_by_their_groups(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "rolebinding", "dev", "--clusterrole=view", "--group=developers", f"-n{namespace}")
    path = CONFIGMAPS.format(namespace)
    eventually(lambda: request(control_plane, "GET", path, user="bob").code == 200, "a developer may read")


def test_a_client_certificate_makes_a_user_while_it_runs(control_plane: ControlPlane) -> None:
    trust = ssl.create_default_context(cafile=str(control_plane.ca))
    trust.load_cert_chain(*control_plane.client_certificate("carol", ["system:masters"]))
    connection = HTTPSConnection(urlsplit(control_plane.url).netloc, timeout=10, context=trust)
    connection.request("GET", "/api/v1/namespaces/default")
    assert connection.getresponse().status == 200
    connection.close()


def test_requests_are_counted_by_user_verb_and_resource(control_plane: ControlPlane, namespace: str) -> None:
    path, audit = CONFIGMAPS.format(namespace), control_plane.audit
    mark = audit.mark()
    for index in range(3):
        request(control_plane, "POST", path, {"metadata": {"name": f"c{index}"}}, user="counted")
    request(control_plane, "GET", f"{path}/c1", user="counted")
    request(control_plane, "GET", path, user="alice")
    assert audit.count(mark, user="counted", verb="create", resource="configmaps") == 3
    assert audit.count(mark, user="counted") == 4
    assert [entry.code for entry in audit.entries(mark) if entry.user == "alice"] == [403]


def test_the_ordinary_controllers_work(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "deployment", "web", "--image=none", "--replicas=2", f"-n{namespace}")

    def pods() -> list[str]:
        listed = request(control_plane, "GET", f"/api/v1/namespaces/{namespace}/pods").body["items"]
        return [pod["metadata"]["name"] for pod in listed]

    eventually(lambda: len(pods()) == 2, "the deployment has its pods")
    control_plane.kubectl("delete", "deployment", "web", f"-n{namespace}")
    eventually(lambda: pods() == [], "garbage is collected")


def test_a_namespace_goes_with_all_that_is_in_it(control_plane: ControlPlane) -> None:
    control_plane.kubectl("create", "namespace", "doomed")
    control_plane.kubectl("create", "configmap", "thing", "-ndoomed")
    control_plane.kubectl("delete", "namespace", "doomed", "--wait=false")
    eventually(lambda: request(control_plane, "GET", "/api/v1/namespaces/doomed").code == 404, "the namespace is gone")


def test_kubectl_says_why_it_failed(control_plane: ControlPlane) -> None:
    with pytest.raises(SeamarkError, match="forbidden"):
        control_plane.kubectl("get", "secrets", "-A", user="alice")


def test_a_user_whom_nobody_named_is_an_error(control_plane: ControlPlane) -> None:
    with pytest.raises(UserError, match="has no user mallory"):
        control_plane.user("mallory")


def test_a_killed_api_server_comes_back_with_its_data_at_the_same_place(own_plane: ControlPlane) -> None:
    url, path = own_plane.url, CONFIGMAPS.format("default")
    made = request(own_plane, "POST", path, {"metadata": {"name": "kept"}})
    own_plane.api_server.kill()
    assert not own_plane.api_server.alive
    assert own_plane.etcd.alive
    own_plane.api_server.start()
    own_plane.wait_ready()
    assert own_plane.url == url
    assert request(own_plane, "GET", f"{path}/kept").body["metadata"]["uid"] == made.body["metadata"]["uid"]
    assert own_plane.audit.count(user="admin", resource="configmaps") == 2  # the log goes on, too


def test_etcd_may_die_and_come_back(own_plane: ControlPlane) -> None:
    path = CONFIGMAPS.format("default")
    request(own_plane, "POST", path, {"metadata": {"name": "kept"}})
    own_plane.etcd.kill()
    own_plane.etcd.start()
    own_plane.wait_ready()
    eventually(lambda: request(own_plane, "GET", f"{path}/kept").code == 200, "it is still there")


def test_two_at_once_do_not_meet_and_leave_nothing() -> None:
    planes = [ControlPlane(), ControlPlane(Options(controllers=False))]
    threads = [threading.Thread(target=plane.start) for plane in planes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        for index, plane in enumerate(planes):
            made = request(plane, "POST", CONFIGMAPS.format("default"), {"metadata": {"name": f"in-{index}"}})
            assert made.code == 201
        for index, plane in enumerate(planes):
            listed = request(plane, "GET", CONFIGMAPS.format("default")).body["items"]
            names = {item["metadata"]["name"] for item in listed} - {"kube-root-ca.crt"}
            assert names == {f"in-{index}"}
        assert [plane.controller_manager.alive for plane in planes] == [True, False]
        pids = [component.pid for plane in planes for component in plane.components if component.pid]
    finally:
        for plane in planes:
            plane.stop()
    assert len(pids) == 5
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    for plane in planes:
        assert not plane.directory.exists()
        assert ports.free("127.0.0.1", port_of(plane))


def test_it_does_not_outlive_a_process_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().decode().strip())
        assert locked(directory / "kube-apiserver.lock")
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not directory.exists(), "its warden cleared up")


def test_a_detached_one_is_found_again_and_taken_down_by_another(tmp_path: Path) -> None:
    first = ControlPlane(Options(controllers=False), directory=tmp_path / "plane", detached=True)
    first.start()
    try:
        found = ControlPlane.attach(tmp_path / "plane")
        assert found.url == first.url
        assert request(found, "GET", "/api/v1/namespaces/default").code == 200
        found.api_server.kill()
        found.api_server.start()
        found.wait_ready()
        found.stop()
        assert not first.etcd.alive
        assert not (tmp_path / "plane").exists()
    finally:
        first.stop()


def test_it_is_never_put_into_a_directory_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exists already"):
        ControlPlane(directory=tmp_path).start()
    assert tmp_path.exists()


def test_a_component_that_refuses_its_flags_is_quoted_and_nothing_stays(tmp_path: Path) -> None:
    plane = ControlPlane(Options(controllers=False, api_server_flags=("--no-such-flag",)), directory=tmp_path / "plane")
    with pytest.raises(SeamarkError, match=r"kube-apiserver died: .*no-such-flag"):
        plane.start()
    assert not (tmp_path / "plane").exists()


def test_it_works_in_an_async_program() -> None:
    async def program() -> int:
        async with ControlPlane(Options(controllers=False)) as plane:
            return (await asyncio.to_thread(request, plane, "GET", "/api/v1/namespaces/default")).code

    assert asyncio.run(program()) == 200
