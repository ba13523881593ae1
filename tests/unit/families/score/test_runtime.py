"""What the Kubernetes runtime renders and says (docs/spec/score/runtime.md)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.apps import Deployment
from seamark.api.core import Service
from seamark.api.gateway import Gateway, HTTPRoute
from seamark.api.score import WorkloadExposure, WorkloadExposureStatus, WorkloadPlan
from seamark.core.apply import Answers
from seamark.core.calls import Failed, Results
from seamark.core.difference import difference
from seamark.families.score.runtime.publish import desire, judge, probed
from seamark.families.score.runtime.quantity import canonical
from seamark.families.score.runtime.render import render
from seamark.families.score.runtime.state import GENERATION, Published, Rendered

QUANTITIES = {
    "1": "1",
    "1000m": "1",
    "1.5": "1500m",
    "0.5": "500m",
    ".25": "250m",
    "100m": "100m",
    "1024Mi": "1Gi",
    "1536Mi": "1536Mi",
    "1.5Gi": "1536Mi",
    "1000M": "1G",
    "64M": "64M",
    "0.5Ki": "512",
    "1024": "1024",
    "2000": "2k",
    "1e3": "1e3",
    "0": "0",
    "zzz": "zzz",
}


@pytest.mark.parametrize(("said", "written"), QUANTITIES.items())
def test_a_quantity_is_rendered_as_the_api_server_writes_it(said: str, written: str) -> None:
    assert canonical(said) == written


def wire(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def plan(generation: int = 1, **values: Any) -> WorkloadPlan:
    return msgspec.convert(
        {
            "metadata": {"name": "app", "namespace": "default", "uid": "plan"},
            "spec": {
                "workloadRef": {"name": "app", "uid": "u"},
                "observedWorkloadGeneration": generation,
                "runtimeClass": "kubernetes",
                "resolvedValues": {"kind": "Deployment", "containers": {"main": {"image": "nginx"}}, **values},
            },
        },
        WorkloadPlan,
    )


def containers(**more: Any) -> list[Any]:
    rendered = render(plan(containers={"main": {"image": "nginx", **more}}), gateway_api=False)
    found: list[Any] = wire(rendered["rollout"])["spec"]["template"]["spec"]["containers"]
    return found


def test_a_secret_is_a_reference_alone_and_amid_text() -> None:
    secret = {"secret": "app.db", "key": "password"}
    variables = {"URL": ["pg://", secret, "@$(HOME)"], "PASSWORD": [secret], "PLAIN": ["text"]}
    reference = {"secretKeyRef": {"name": "app.db", "key": "password"}}
    assert containers(variables=variables)[0]["env"] == [
        {"name": "PASSWORD", "valueFrom": reference},
        {"name": "PLAIN", "value": "text"},
        {"name": "URL_SECRET_0", "valueFrom": reference},
        {"name": "URL", "value": "pg://$(URL_SECRET_0)@$$(HOME)"},
    ]


def test_containers_are_sorted_and_the_same_plan_gives_the_same_objects() -> None:
    one = {name: {"image": name, "variables": {"b": ["1"], "a": ["2"]}} for name in ("z", "a", "m")}
    turned = dict(reversed(list(one.items())))
    assert render(plan(containers=one), gateway_api=False) == render(plan(containers=turned), gateway_api=False)


def test_another_generation_alone_rolls_nothing_out() -> None:
    one, two = (render(plan(generation), gateway_api=False)["rollout"] for generation in (1, 2))
    assert difference(two, one) == {"metadata": {"annotations": {GENERATION: "2"}}}


def test_a_probe_that_is_taken_out_is_taken_away() -> None:
    with_probe = containers(readinessProbe={"exec": {"command": ["true"]}})
    assert with_probe[0]["readinessProbe"] == {"exec": {"command": ["true"]}}
    live = render(
        plan(containers={"main": {"image": "a", "livenessProbe": {"httpGet": {"port": 1}}}}), gateway_api=False
    )
    wanted = render(plan(containers={"main": {"image": "a"}}), gateway_api=False)
    patch = difference(wanted["rollout"], live["rollout"])
    assert "livenessProbe" not in patch["spec"]["template"]["spec"]["containers"][0]


def test_files_are_mounted_each_at_its_target_and_a_change_rolls_out() -> None:
    def rendered(content: str) -> Any:
        files = [{"target": "/etc/a", "content": content, "mode": "0600"}, {"target": "/b", "binaryContent": "/w=="}]
        return render(plan(containers={"main": {"image": "a", "files": files}}), gateway_api=False)

    config_map = wire(rendered("x")["files main"])
    assert list(config_map["data"].values()) == ["x"]
    assert list(config_map["binaryData"].values()) == ["/w=="]
    pod = wire(rendered("x")["rollout"])["spec"]["template"]
    assert [mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]] == ["/etc/a", "/b"]
    assert pod["spec"]["volumes"][0]["configMap"]["items"][0]["mode"] == 0o600
    assert "template" in difference(rendered("y")["rollout"], rendered("x")["rollout"])["spec"]


def test_ports_volumes_and_routes_are_rendered() -> None:
    rendered = render(
        plan(
            kind="StatefulSet",
            containers={"main": {"image": "a", "volumes": [{"target": "/data", "source": "vol", "readOnly": True}]}},
            ports=[{"name": "web", "port": 80, "targetPort": 8080}, {"port": 53, "protocol": "UDP"}],
            volumes=[{"key": "vol", "source": "app.vol", "size": "1024Mi"}],
            routes=[{"key": "r", "host": "a.example.com", "path": "/x", "port": "80"}],
        ),
        gateway_api=True,
    )
    assert sorted(rendered) == ["rollout", "route r", "service", "volume vol"]
    assert [one["name"] for one in wire(rendered["service"])["spec"]["ports"]] == ["web", "udp-53"]
    assert wire(rendered["volume vol"])["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
    assert wire(rendered["route r"])["spec"] == {
        "parentRefs": [{"name": "default"}],
        "hostnames": ["a.example.com"],
        "rules": [{"matches": [{"path": {"value": "/x"}}], "backendRefs": [{"name": "app", "port": 80}]}],
    }
    assert type(rendered["rollout"]).__name__ == "StatefulSet"


# ---- what is published

PORTS = [{"name": "web", "port": 80}]
EXPOSURE: WorkloadExposure = msgspec.convert(
    {
        "metadata": {"name": "app", "namespace": "default", "generation": 1},
        "spec": {"workloadRef": {"name": "app"}, "observedWorkloadGeneration": 1, "runtimeClass": "kubernetes"},
    },
    WorkloadExposure,
)
COMPLETE = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}


def rollout(available: int = 1, generation: str = "1", condition: Any = COMPLETE) -> Deployment:
    status = {"observedGeneration": 3, "availableReplicas": available, "conditions": [condition]}
    metadata = {"name": "app", "generation": 3, "annotations": {GENERATION: generation}}
    return msgspec.convert({"metadata": metadata, "spec": {"replicas": 1}, "status": status}, Deployment)


def seen(**more: Any) -> Published:
    service = render(plan(ports=PORTS), gateway_api=False)["service"]
    assert isinstance(service, Service)
    said: dict[str, Any] = {
        "plan": plan(ports=PORTS),
        "rendered": Rendered(1),
        "rollout": rollout(),
        "service": service,
    }
    return Published(exposure=EXPOSURE, **{**said, **more})


def said(status: WorkloadExposureStatus) -> dict[str, str]:
    return {condition.type: f"{condition.status} {condition.reason}" for condition in status.conditions}


NOTHING = Answers({}, {})


def test_what_runs_is_published_with_its_generation() -> None:
    status = judge(seen(), NOTHING)
    assert wire(status.exposures) == [
        {"url": "http://app.default.svc.cluster.local:80", "scope": "ClusterLocal", "schemeHint": "HTTP"}
    ]
    assert status.observed_workload_generation == 1
    assert said(status) == {
        "Available": "True Running",
        "Provisioning": "False RolledOut",
        "Degraded": "False AsItShould",
        "IngressPending": "False Served",
    }


@pytest.mark.parametrize(
    ("more", "condition", "expected"),
    {
        "not rendered": ({"rollout": None}, "Provisioning", "True RollingOut"),
        "of an older generation": ({"rollout": rollout(generation="0")}, "Provisioning", "True RollingOut"),
        "rolling out": (
            {"rollout": rollout(0, condition={"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"})},
            "Provisioning",
            "True RollingOut",
        ),
        "its pod died": ({"rollout": rollout(0)}, "Degraded", "True ReplicasMissing"),
        "refused": ({"rollout": None, "rendered": Rendered(1, "exceeded quota")}, "Degraded", "True Refused"),
    }.values(),
)
def test_what_does_not_run_is_told(more: dict[str, Any], condition: str, expected: str) -> None:
    assert said(judge(seen(**more), NOTHING))[condition] == expected
    assert not said(judge(seen(**more), NOTHING))["Available"].startswith("True")


def test_an_endpoint_is_reachable_by_probe_alone() -> None:
    asked = seen(probes=True)
    ((_, call),) = probed(asked)
    assert desire(asked).calls == (call,)
    assert desire(seen()).calls == ()

    def reachable(outcome: Any, expires: float = 9.0) -> bool | None:
        results = Results({call.target: Results.answer(call, outcome, expires)}, now=1.0)
        (entry,) = judge(seen(probes=True, results=results), NOTHING).exposures or ()
        return entry.reachable

    assert reachable(True) is True
    assert reachable(Failed("refused")) is False
    assert reachable(True, expires=0.0) is None
    dead = Results({call.target: Results.answer(call, Failed("refused"), 9.0)}, now=1.0)
    assert said(judge(seen(probes=True, results=dead), NOTHING))["Degraded"] == "True Unreachable"


def test_a_route_is_published_only_when_its_gateway_serves_it() -> None:
    routes = [{"key": "r", "host": "a.example.com", "path": "/", "port": "80"}]
    asked = plan(ports=PORTS, routes=routes)
    assert said(judge(seen(plan=asked), NOTHING))["IngressPending"] == "True NoGatewayAPI"

    def condition(type_: str, **more: Any) -> dict[str, Any]:
        time = "2026-01-01T00:00:00Z"
        return {"type": type_, "status": "True", "reason": "A", "message": "", "lastTransitionTime": time, **more}

    def route(generation: int) -> HTTPRoute:
        accepted = condition("Accepted", observedGeneration=generation)
        parent = {"parentRef": {"name": "default"}, "controllerName": "c", "conditions": [accepted]}
        return msgspec.convert({"metadata": {"generation": 2}, "status": {"parents": [parent]}}, HTTPRoute)

    gateway = msgspec.convert({"status": {"conditions": [condition("Programmed")]}}, Gateway)
    stale = judge(seen(plan=asked, routes={"r": route(1)}, gateway=gateway), NOTHING)
    assert said(stale)["IngressPending"] == "True RouteNotServed"
    served = judge(seen(plan=asked, routes={"r": route(2)}, gateway=gateway), NOTHING)
    assert [one.url for one in served.exposures or ()] == [
        "http://a.example.com",
        "http://app.default.svc.cluster.local:80",
    ]
    assert said(served)["IngressPending"] == "False Served"
