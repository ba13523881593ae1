"""The official Python clients on the embedded server."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seamark_cluster.server.cluster import with_node
from tests.cluster import aio_client
from tests.cluster.embedded_cluster import USERS, Running, running_cluster
from tests.cluster.requests import eventually

# What these packages say of their own types would have every answer checked for None.
client: Any = importlib.import_module("kubernetes.client")
config: Any = importlib.import_module("kubernetes.config")
dynamic: Any = importlib.import_module("kubernetes.dynamic")
watch: Any = importlib.import_module("kubernetes.watch")
ApiException: Any = importlib.import_module("kubernetes.client.rest").ApiException


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), with_node("loopback", users=USERS)) as running:
        yield running


@pytest.fixture
def api(running: Running) -> Iterator[Any]:
    made = config.new_client_from_config(str(running.cluster.kubeconfig))
    yield made
    made.close()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_typed_calls_make_read_change_and_delete(api: Any) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map("default", client.V1ConfigMap(metadata={"name": "typed"}, data={"a": "b"}))
    assert core.read_namespaced_config_map("typed", "default").data == {"a": "b"}
    core.patch_namespaced_config_map("typed", "default", {"data": {"c": "d"}})
    found = core.list_namespaced_config_map("default", field_selector="metadata.name=typed").items
    assert [one.data for one in found] == [{"a": "b", "c": "d"}]
    core.delete_namespaced_config_map("typed", "default")
    with pytest.raises(ApiException) as told:
        core.read_namespaced_config_map("typed", "default")
    assert (told.value.status, told.value.reason) == (404, "Not Found")


def test_a_deployment_runs_and_its_log_can_be_read(api: Any) -> None:
    container = client.V1Container(name="main", image="seamark.dev/echo", env=[{"name": "PORT", "value": "18311"}])
    template = client.V1PodTemplateSpec(
        metadata={"labels": {"app": "hello"}}, spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(selector={"matchLabels": {"app": "hello"}}, template=template, replicas=1)
    apps, core = client.AppsV1Api(api), client.CoreV1Api(api)
    apps.create_namespaced_deployment("default", client.V1Deployment(metadata={"name": "hello"}, spec=spec))
    stream = watch.Watch()
    for event in stream.stream(apps.list_namespaced_deployment, "default", timeout_seconds=60):
        if event["object"].status.ready_replicas:
            stream.stop()
    (pod,) = core.list_namespaced_pod("default", label_selector="app=hello").items
    eventually(lambda: "listening" in core.read_namespaced_pod_log(pod.metadata.name, "default"), "its first line")
    apps.delete_namespaced_deployment("hello", "default")


def test_the_dynamic_client_finds_kinds_by_discovery(api: Any) -> None:
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    maps.server_side_apply(body=config_map("dynamic", a="b"), namespace="default", field_manager="test")
    assert maps.get(name="dynamic", namespace="default").data.a == "b"
    maps.delete(name="dynamic", namespace="default")


def test_who_has_no_rights_is_told(running: Running) -> None:
    with config.new_client_from_config(str(running.cluster.kubeconfig), context="alice") as api:
        with pytest.raises(ApiException) as told:
            client.CoreV1Api(api).list_namespaced_secret("default")
        assert told.value.status == 403
        review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "secrets", "namespace": "default"}}}
        answer = client.AuthorizationV1Api(api).create_self_subject_access_review(review)
        assert answer.status.allowed is False


def test_tokens_are_reviewed_and_known(api: Any, running: Running) -> None:
    core = client.CoreV1Api(api)
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    token = core.create_namespaced_service_account_token("default", "default", request).status.token
    review = client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token))
    status = client.AuthenticationV1Api(api).create_token_review(review).status
    assert (status.authenticated, status.user.username) == (True, "system:serviceaccount:default:default")
    bearer = client.Configuration()
    bearer.host, bearer.ssl_ca_cert = running.cluster.url, str(running.cluster.server.authority)
    bearer.api_key, bearer.api_key_prefix = {"authorization": token}, {"authorization": "Bearer"}
    with client.ApiClient(bearer) as account:
        me = client.AuthenticationV1Api(account).create_self_subject_review({})
        assert me.status.user_info.username == "system:serviceaccount:default:default"
    bearer.api_key = {"authorization": "nonsense"}
    with client.ApiClient(bearer) as nobody, pytest.raises(ApiException) as told:
        client.CoreV1Api(nobody).list_namespace()
    assert told.value.status == 401


def test_the_asynchronous_client_does_the_same(running: Running) -> None:
    program = [sys.executable, "-P", aio_client.__file__, str(running.cluster.kubeconfig)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=90, check=False)
    assert (done.returncode, done.stdout) == (0, "ADDED {'a': 'c'}\nDELETED {'a': 'c'}\n"), done.stderr


def test_paths_that_are_none_are_told(running: Running, tmp_path: Path) -> None:
    said = running.kubectl("get", "--raw", "/nowhere")
    assert said.returncode == 1
    assert "the server could not find the requested resource" in said.stderr
    assert list(tmp_path.iterdir()) == []
