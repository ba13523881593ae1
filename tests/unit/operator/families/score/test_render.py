"""What the Kubernetes runtime renders (docs/spec/score/runtime.md, rules 1 to 4)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import PlanTemplate, WorkloadPlan
from seamark.families.score.model.planvalues import Unfit, read
from seamark.families.score.model.quantity import canonical
from seamark.families.score.model.runtime import GENERATION
from seamark.families.score.rendering.render import render as render_values
from seamark_runtime.api.meta import Object
from seamark_runtime.difference import difference

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


@pytest.mark.parametrize(("given", "written"), QUANTITIES.items())
def test_a_quantity_is_rendered_as_the_api_server_writes_it(given: str, written: str) -> None:
    assert canonical(given) == written


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


def render(planned: WorkloadPlan) -> dict[str, Object]:
    values = read(planned)
    assert not isinstance(values, Unfit), str(values)
    return render_values(planned, values)


def containers(**more: Any) -> list[Any]:
    rendered = render(plan(containers={"main": {"image": "nginx", **more}}))
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
    containers = {name: {"image": name, "variables": {"b": ["1"], "a": ["2"]}} for name in ("z", "a", "m")}
    turned = dict(reversed(list(containers.items())))
    assert render(plan(containers=containers)) == render(plan(containers=turned))


def test_another_generation_alone_rolls_nothing_out() -> None:
    first, second = (render(plan(generation))["rollout"] for generation in (1, 2))
    assert difference(second, first) == {"metadata": {"annotations": {GENERATION: "2"}}}


def test_a_probe_that_is_taken_out_is_taken_away() -> None:
    with_probe = containers(readinessProbe={"exec": {"command": ["true"]}})
    assert with_probe[0]["readinessProbe"] == {"exec": {"command": ["true"]}}
    live = render(plan(containers={"main": {"image": "a", "livenessProbe": {"httpGet": {"port": 1}}}}))
    wanted = render(plan(containers={"main": {"image": "a"}}))
    patch = difference(wanted["rollout"], live["rollout"])
    assert "livenessProbe" not in patch["spec"]["template"]["spec"]["containers"][0]


def test_files_are_mounted_each_at_its_target_and_a_change_rolls_out() -> None:
    def rendered(content: str) -> Any:
        files = [{"target": "/etc/a", "content": content, "mode": "0600"}, {"target": "/b", "binaryContent": "/w=="}]
        return render(plan(containers={"main": {"image": "a", "files": files}}))

    config_map = wire(rendered("x")["files main"])
    assert list(config_map["data"].values()) == ["x"]
    assert list(config_map["binaryData"].values()) == ["/w=="]
    pod = wire(rendered("x")["rollout"])["spec"]["template"]
    assert [mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]] == ["/etc/a", "/b"]
    assert pod["spec"]["volumes"][0]["configMap"]["items"][0]["mode"] == 0o600
    assert "template" in difference(rendered("y")["rollout"], rendered("x")["rollout"])["spec"]


def test_a_file_that_is_a_secret_is_mounted_by_reference() -> None:
    files = [
        {"target": "/key", "secret": "app.tls", "key": "tls.key", "mode": "0400"},
        {"target": "/a", "content": "x"},
    ]
    rendered = render(plan(containers={"main": {"image": "a", "files": files}}))
    assert list(wire(rendered["files main"])["data"].values()) == ["x"]
    pod = wire(rendered["rollout"])["spec"]["template"]["spec"]
    of_text, of_secret = pod["volumes"]
    assert of_text["configMap"]["name"] == "app.main.files"
    assert of_secret["secret"]["secretName"] == "app.tls"
    ((item,), (mount, _)) = of_secret["secret"]["items"], pod["containers"][0]["volumeMounts"]
    assert (item["key"], item["mode"]) == ("tls.key", 0o400)
    assert (mount["name"], mount["mountPath"], mount["subPath"]) == (of_secret["name"], "/key", item["path"])
    alone = render(plan(containers={"main": {"image": "a", "files": files[:1]}}))
    assert sorted(alone) == ["rollout"]


def test_ports_volumes_and_routes_are_rendered() -> None:
    rendered = render(
        plan(
            kind="StatefulSet",
            containers={"main": {"image": "a", "volumes": [{"target": "/data", "source": "vol", "readOnly": True}]}},
            ports=[{"name": "web", "port": 80, "targetPort": 8080}, {"port": 53, "protocol": "UDP"}],
            volumes=[{"key": "vol", "source": "app.vol", "size": "1024Mi"}],
            routes=[{"key": "r", "host": "a.example.com", "path": "/x", "port": "80"}],
        )
    )
    assert sorted(rendered) == ["rollout", "route r", "service", "volume vol"]
    assert [port["name"] for port in wire(rendered["service"])["spec"]["ports"]] == ["web", "udp-53"]
    assert wire(rendered["volume vol"])["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
    assert wire(rendered["route r"])["spec"] == {
        "parentRefs": [{"name": "default"}],
        "hostnames": ["a.example.com"],
        "rules": [{"matches": [{"path": {"value": "/x"}}], "backendRefs": [{"name": "app", "port": 80}]}],
    }
    assert type(rendered["rollout"]).__name__ == "StatefulSet"


def test_the_platform_sets_the_gateway_and_the_type_of_service() -> None:
    planned = plan(ports=[{"port": 80}], routes=[{"key": "r", "host": "a.example.com", "path": "/", "port": "80"}])
    values = {"gateway": {"name": "edge", "namespace": "infra"}, "service": {"type": "LoadBalancer"}}
    template = {"kind": "manifests", "values": values}
    spec = msgspec.structs.replace(planned.spec, template=msgspec.convert(template, PlanTemplate))
    rendered = render(msgspec.structs.replace(planned, spec=spec))
    assert wire(rendered["route r"])["spec"]["parentRefs"] == [{"name": "edge", "namespace": "infra"}]
    assert wire(rendered["service"])["spec"]["type"] == "LoadBalancer"
