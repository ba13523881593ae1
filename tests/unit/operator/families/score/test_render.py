"""What the Kubernetes runtime renders (docs/spec/score/runtime.md, rules 1 to 4)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import PlanTemplate, WorkloadPlan
from seamark.families.score.model.planvalues import PlanValues, Unfit, read
from seamark.families.score.model.quantity import canonical
from seamark.families.score.model.runtime import GENERATION
from seamark.families.score.rendering.reconcile import desire
from seamark.families.score.rendering.render import render as render_values
from seamark.families.score.rendering.state import Seen
from seamark_runtime.api.apps import PersistentVolumeClaim
from seamark_runtime.api.meta import Object, ObjectMeta
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


@pytest.mark.parametrize("policy", ["Retain", "Orphan", "Delete"])
def test_a_volume_that_is_to_outlive_its_plan_has_no_owner(policy: str) -> None:
    volume = {"key": "vol", "source": "app.vol", "size": "1Gi", "deprovisionPolicy": policy}
    metadata = render(plan(volumes=[volume]))["volume vol"].metadata
    assert bool(metadata.owner_references) == (policy == "Delete")
    assert (metadata.labels or {})["score.dev/deprovision-policy"] == policy


def held(name: str, policy: str) -> PersistentVolumeClaim:
    labels = {"score.dev/deprovision-policy": policy} if policy else {}
    return PersistentVolumeClaim(metadata=ObjectMeta(name=name, namespace="default", labels=labels))


def wanted_names(values: PlanValues | None, *volumes: PersistentVolumeClaim) -> set[str]:
    children = desire(Seen(plan(), values, volumes)).children.values()
    return {child.metadata.name for child in children if isinstance(child, PersistentVolumeClaim)}


def test_of_volumes_that_are_not_needed_any_more_those_stay_that_a_policy_keeps() -> None:
    volumes = held("a", "Retain"), held("b", "Orphan"), held("c", "Delete"), held("d", "")
    assert wanted_names(PlanValues(), *volumes) == {"a", "b"}


def test_no_volume_is_deleted_because_another_runtime_has_the_plan() -> None:
    assert wanted_names(None, held("c", "Delete"), held("d", "")) == {"c", "d"}


def test_annotations_are_on_pods_and_service_and_the_service_has_the_name_that_was_wanted() -> None:
    route = {"key": "r", "host": "a.example.com", "path": "/", "port": "80"}
    annotations = {"prometheus.io/scrape": "true"}
    rendered = render(plan(annotations=annotations, serviceName="shop", ports=[{"port": 80}], routes=[route]))
    assert wire(rendered["rollout"])["spec"]["template"]["metadata"]["annotations"] == annotations
    service = rendered["service"].metadata
    assert service.name == "shop"
    assert service.annotations == {**annotations, GENERATION: "1"}
    assert wire(rendered["route r"])["spec"]["rules"][0]["backendRefs"] == [{"name": "shop", "port": 80}]


def test_a_claim_that_is_there_already_is_mounted_and_not_rendered() -> None:
    volume = {"target": "/data", "source": "archive.data", "claim": "archive.data"}
    rendered = render(plan(containers={"main": {"image": "a", "volumes": [volume]}}))
    assert sorted(rendered) == ["rollout"]
    pod = wire(rendered["rollout"])["spec"]["template"]["spec"]
    (mounted,), (mount,) = pod["volumes"], pod["containers"][0]["volumeMounts"]
    assert mounted["persistentVolumeClaim"] == {"claimName": "archive.data"}
    assert mount["name"] == mounted["name"]


def test_of_a_probe_with_both_handlers_the_command_decides() -> None:
    probe = {"exec": {"command": ["true"]}, "httpGet": {"port": 80, "path": "/"}}
    assert containers(readinessProbe=probe)[0]["readinessProbe"] == {"exec": {"command": ["true"]}}


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
