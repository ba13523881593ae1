"""The real API server takes the Score kinds, and refuses, with the field's name, what a runtime could not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seamark.families.score.family import CRDS, RESOURCE_CLAIM, WORKLOAD, WORKLOAD_EXPOSURE
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.requests import Answer, install, request

Make = Callable[..., Answer]
REF = {"name": "app", "namespace": "x", "uid": "u"}


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    for crd in CRDS:
        install(control_plane, crd)
    return control_plane


@pytest.fixture
def make(plane: ControlPlane, namespace: str) -> Make:
    def make(spec: dict[str, Any], kind: str = "Workload", plural: str = "workloads", name: str = "app") -> Answer:
        body = {"apiVersion": "score.dev/v1b1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        path = f"/apis/score.dev/v1b1/namespaces/{namespace}/{plural}?fieldValidation=Strict"
        return request(plane, "POST", path, body)

    return make


def container(**more: Any) -> dict[str, Any]:
    return {"containers": {"main": {"image": "nginx:1.27", **more}}}


def file(**more: Any) -> dict[str, Any]:
    return container(files=[{"target": "/etc/x", **more}])


def probe(**more: Any) -> dict[str, Any]:
    return container(readinessProbe=more)


def ports(*ports: dict[str, Any]) -> dict[str, Any]:
    return {**container(), "service": {"ports": list(ports)}}


FULL = {
    "profile": "web-service",
    "containers": {
        "main": {
            "image": "registry.example.com:5000/team/app@sha256:" + "a" * 64,
            "command": ["/bin/app"],
            "args": ["--port", "8080"],
            "variables": {"DB": "${resources.db.host}"},
            "files": [
                {"target": "/a", "content": "text", "mode": "0600", "noExpand": True},
                {"target": "/b", "binaryContent": "aGVsbG8="},
                {"target": "/c", "source": {"uri": "https://example.com/x"}},
            ],
            "volumes": [{"target": "/data", "source": "${resources.vol}", "path": "sub", "readOnly": True}],
            "livenessProbe": {"exec": {"command": ["true"]}},
            "readinessProbe": {
                "httpGet": {"path": "/", "port": 8080, "scheme": "HTTP", "headers": [{"name": "A", "value": "b"}]}
            },
            "resources": {"limits": {"cpu": "1.5", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "64M"}},
        }
    },
    "service": {
        "ports": [
            {"name": "web", "port": 80, "protocol": "TCP", "targetPort": 8080},
            {"name": "dns", "port": 80, "protocol": "UDP"},
        ]
    },
    "resources": {
        "db": {
            "type": "postgres",
            "class": "large",
            "id": "shared.db",
            "metadata": {"annotations": {"a": "b"}},
            "params": {"deep": {"er": [1]}},
        },
        "vol": {"type": "volume"},
    },
}

REFUSED = {
    "no containers": ({"containers": {}}, "spec.containers"),
    "eleven containers": ({"containers": {f"c{n}": {"image": "a"} for n in range(11)}}, "spec.containers"),
    "a container's name": ({"containers": {"Main_1": {"image": "a"}}}, "spec.containers"),
    "no image": ({"containers": {"main": {}}}, "spec.containers.main.image"),
    "an empty image": ({"containers": {"main": {"image": ""}}}, "spec.containers.main.image"),
    "an image with a space": ({"containers": {"main": {"image": "a b"}}}, "spec.containers.main.image"),
    "a file from nowhere": (file(), "exactly one of source, content and binaryContent"),
    "a file from two places": (file(content="a", binaryContent="YQ=="), "spec.containers[main].files[0]"),
    "a file from three places": (
        file(content="", binaryContent="YQ==", source={"uri": "x:y"}),
        "exactly one of source",
    ),
    "a file's mode": (file(content="a", mode="rw-"), "files[0].mode"),
    "a file that is no base64": (file(binaryContent="???"), "files[0].binaryContent"),
    "a file twice": (container(files=[{"target": "/a", "content": ""}, {"target": "/a", "content": ""}]), "files[1]"),
    "twenty-one files": (container(files=[{"target": f"/{n}", "content": ""} for n in range(21)]), "files"),
    "a probe of nothing": (probe(), "at least one of httpGet and exec"),
    "a probe without a port": (probe(httpGet={"path": "/"}), "readinessProbe.httpGet.port"),
    "a probe's port": (probe(httpGet={"port": 0}), "readinessProbe.httpGet.port"),
    "a probe without a command": (probe(exec={"command": []}), "readinessProbe.exec.command"),
    "a port that is none": (ports({"port": 0}), "spec.service.ports[0].port"),
    "a target port that is none": (ports({"port": 80, "targetPort": 70000}), "spec.service.ports[0].targetPort"),
    "a protocol": (ports({"port": 80, "protocol": "SCTP"}), "spec.service.ports[0].protocol"),
    "a port twice": (ports({"port": 80}, {"port": 80}), "spec.service.ports[1]"),
    "a port's name twice": (ports({"name": "a", "port": 1}, {"name": "a", "port": 2}), "spec.service.ports"),
    "ports as a map": ({**container(), "service": {"ports": {"web": {"port": 80}}}}, "spec.service.ports"),
    "a quantity": (container(resources={"limits": {"cpu": "zzz"}}), "resources.limits.cpu"),
    "a quantity without digits": (container(resources={"requests": {"memory": "Mi"}}), "resources.requests.memory"),
    "a resource that nobody knows": (container(resources={"limits": {"gpu": "1"}}), "only cpu and memory"),
    "a resource without a type": ({**container(), "resources": {"db": {}}}, "spec.resources.db.type"),
    "a resource's type": ({**container(), "resources": {"db": {"type": "a b"}}}, "spec.resources.db.type"),
    "a resource's name": ({**container(), "resources": {"D B": {"type": "dns"}}}, "spec.resources"),
    "a field that nobody knows": (container(imagee="a"), 'unknown field "spec.containers.main.imagee"'),
}


@pytest.mark.parametrize(("spec", "words"), REFUSED.values(), ids=REFUSED)
def test_a_workload_is_refused_with_the_name_of_the_field(make: Make, spec: dict[str, Any], words: str) -> None:
    answer = make(spec)
    assert answer.code in (400, 422), answer.body
    assert words in answer.body["message"]


def test_nothing_of_a_full_workload_is_lost(make: Make) -> None:
    made = make(FULL)
    assert made.code == 201, made.body
    spec = made.body["spec"]
    assert spec == FULL


def test_a_new_workload_is_unknown_in_every_respect_and_has_no_endpoint(make: Make) -> None:
    status = make(container()).body["status"]
    said = {condition["type"]: (condition["status"], condition["reason"]) for condition in status["conditions"]}
    assert said == {
        "Ready": ("Unknown", "Pending"),
        "InputsValid": ("Unknown", "Pending"),
        "ClaimsReady": ("Unknown", "Pending"),
        "RuntimeReady": ("Unknown", "RuntimeSelecting"),
    }
    assert "endpoint" not in status


EXPOSURE = {"workloadRef": REF, "observedWorkloadGeneration": 1, "runtimeClass": "kubernetes"}


def test_an_exposure_begins_with_no_status_and_takes_what_the_seed_names(
    make: Make, plane: ControlPlane, namespace: str
) -> None:
    made = make(EXPOSURE, "WorkloadExposure", "workloadexposures")
    assert made.code == 201, made.body
    assert "status" not in made.body
    entries = [
        {
            "url": "https://app.example.com",
            "priority": 100,
            "scope": "Public",
            "schemeHint": "HTTPS",
            "reachable": True,
        },
        {"url": "grpc://app:50051", "priority": -1, "scope": "ClusterLocal", "schemeHint": "GRPC", "reachable": False},
        {"url": "tcp://10.0.0.1:5432", "scope": "VPC", "schemeHint": "TCP"},
        {"url": "mqtt://broker", "scope": "Other", "schemeHint": "OTHER"},
    ]
    path = f"{WORKLOAD_EXPOSURE.resource.path(namespace, 'app', 'status')}?fieldValidation=Strict"
    patch = {"status": {"exposures": entries}}
    said = request(plane, "PATCH", path, patch, content_type="application/merge-patch+json")
    assert said.code == 200, said.body
    assert said.body["status"]["exposures"] == entries
    table = plane.kubectl("get", "workloadexposures", f"-n{namespace}").splitlines()
    assert table[0].split() == ["NAME", "WORKLOAD", "RUNTIME", "TOPURL", "READY", "AGE"]
    assert table[1].split()[1:4] == ["app", "kubernetes", "https://app.example.com"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"priority": 1}, "status.exposures[0].url"),
        ({"url": "a:b", "scope": "World"}, "status.exposures[0].scope"),
        ({"url": "a:b", "schemeHint": "http"}, "status.exposures[0].schemeHint"),
        ({"url": "a:b", "priority": "high"}, "status.exposures[0].priority"),
        ({"url": "a:b", "healthy": True}, "unknown field"),
    ],
)
def test_an_entry_is_refused_with_the_name_of_the_field(
    make: Make, plane: ControlPlane, namespace: str, entry: dict[str, Any], words: str
) -> None:
    assert make(EXPOSURE, "WorkloadExposure", "workloadexposures").code == 201
    path = f"{WORKLOAD_EXPOSURE.resource.path(namespace, 'app', 'status')}?fieldValidation=Strict"
    patch = {"status": {"exposures": [entry]}}
    said = request(plane, "PATCH", path, patch, content_type="application/merge-patch+json")
    assert said.code in (400, 422)
    assert words in said.body["message"]


def test_a_claim_has_a_policy_and_gives_at_least_one_output(make: Make, plane: ControlPlane, namespace: str) -> None:
    spec = {"workloadRef": REF, "key": "db", "type": "postgres"}
    made = make(spec, "ResourceClaim", "resourceclaims")
    assert made.body["spec"]["deprovisionPolicy"] == "Delete", made.body
    path = RESOURCE_CLAIM.resource.path(namespace, "app", "status")
    nothing = {"status": {"phase": "Bound", "outputs": {}}}
    refused = request(plane, "PATCH", path, nothing, content_type="application/merge-patch+json")
    assert "outputs name at least one of" in refused.body["message"]
    assert make({**spec, "deprovisionPolicy": "Keep"}, "ResourceClaim", "resourceclaims", "other").code == 422


def test_a_plan_names_its_runtime(make: Make) -> None:
    spec = {"workloadRef": REF, "observedWorkloadGeneration": 1, "template": {"kind": "charts"}}
    refused = make(spec, "WorkloadPlan", "workloadplans")
    assert "spec.runtimeClass: Required" in refused.body["message"]
    assert "spec.template.kind: Unsupported" in refused.body["message"]
    assert (
        make({**spec, "runtimeClass": "ecs", "template": {"kind": "helm"}}, "WorkloadPlan", "workloadplans").code == 201
    )


def test_kubectl_shows_the_columns(make: Make, plane: ControlPlane, namespace: str) -> None:
    make(container())
    patch = {"status": {"endpoint": "https://a.example.com"}}
    path = WORKLOAD.resource.path(namespace, "app", "status")
    assert request(plane, "PATCH", path, patch, content_type="application/merge-patch+json").code == 200
    table = plane.kubectl("get", "wl", f"-n{namespace}").splitlines()
    assert table[0].split() == ["NAME", "READY", "ENDPOINT", "CLAIMS", "AGE"]
    assert table[1].split()[:3] == ["app", "Unknown", "https://a.example.com"]
    assert plane.kubectl("get", "wclaim,wplan", f"-n{namespace}") == ""
