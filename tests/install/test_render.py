"""What the chart makes of its values, and what it refuses. No cluster is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.install.cases import CASES, only
from tests.install.helm import CHART, HelmFailed, rendered, run

PROBES = [("health", "/healthz"), ("health", "/readyz"), ("health", "/healthz")]
WORKLOADS = ("Deployment", "StatefulSet", "Job", "CronJob")


def pods(documents: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in documents:
        if one["kind"] in WORKLOADS:
            spec = one["spec"]["jobTemplate"]["spec"] if one["kind"] == "CronJob" else one["spec"]
            yield f"{one['kind']} {one['metadata']['name']}", spec["template"]["spec"]


@pytest.mark.parametrize("case", list(CASES))
def test_helm_finds_nothing_wrong(helm: Path, case: str) -> None:
    run(helm, "lint", "--strict", "--quiet", str(CHART), values=CASES[case])


@pytest.mark.parametrize("case", list(CASES))
def test_every_pod_is_as_safe_as_can_be(helm: Path, case: str) -> None:
    found = list(pods(rendered(helm, CASES[case])))
    assert found
    for name, spec in found:
        security = spec["securityContext"]
        assert security["runAsNonRoot"], name
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            own = container["securityContext"]
            assert own["readOnlyRootFilesystem"], name
            assert not own["allowPrivilegeEscalation"], name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            assert "limits" in container["resources"], name


@pytest.mark.parametrize("case", list(CASES))
def test_what_serves_is_asked_whether_it_is_well(helm: Path, case: str) -> None:
    for name, spec in pods(rendered(helm, CASES[case])):
        for container in spec["containers"]:
            if not name.startswith(("Job", "CronJob")):
                probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness", "startup")]
                assert [(probe["port"], probe["path"]) for probe in probes] == PROBES, name
                assert {"name": "health", "containerPort": 8080} in container["ports"], name


DATABASES: dict[str, tuple[dict[str, str], object, bool]] = {
    "none": ({}, None, False),
    "a URL": ({"url": "postgresql://edge@db/edge"}, {"value": "postgresql://edge@db/edge"}, False),
    "a URL, and a Secret with the password": (
        {"url": "postgresql://edge@db/edge", "secret": "db"},
        {"value": "postgresql://edge@db/edge"},
        True,
    ),
    "a Secret with the URL": (
        {"secret": "db"},
        {"valueFrom": {"secretKeyRef": {"name": "db", "key": "uri"}}},
        False,
    ),
}


@pytest.mark.parametrize("case", list(DATABASES))
def test_the_edges_database_is_given_by_url_and_secret(helm: Path, case: str) -> None:
    database, variable, password = DATABASES[case]
    documents = rendered(helm, {**only("loadbalancer"), "edge": {"enabled": True, "database": database}})
    edge = next(spec for name, spec in pods(documents) if name.startswith("StatefulSet"))
    variables = {one.pop("name"): one for one in edge["containers"][0]["env"]}
    assert variables.get("SEAMARK_EDGE_STORE") == variable
    assert ("SEAMARK_EDGE_STORE_PASSWORD_FILE" in variables) is password
    volumes = [volume for volume in edge["volumes"] if volume["name"] == "database"]
    items = [{"key": "password", "path": "password"}]
    assert volumes == ([{"name": "database", "secret": {"secretName": "db", "items": items}}] if password else [])


@pytest.mark.parametrize("case", list(CASES))
def test_metrics_are_not_kept_out_by_our_own_network_policies(helm: Path, case: str) -> None:
    documents = rendered(helm, CASES[case])
    health = {"port": 8080}
    for policy in (one for one in documents if one["kind"] == "NetworkPolicy"):
        if not policy["metadata"]["name"].endswith("-jobs"):
            ports = [port for rule in policy["spec"]["ingress"] for port in rule["ports"]]
            assert health in ports, policy["metadata"]["name"]


@pytest.mark.parametrize("case", list(CASES))
def test_every_account_is_ours_and_has_rights_of_its_own(helm: Path, case: str) -> None:
    documents = rendered(helm, CASES[case])
    accounts = {one["metadata"]["name"] for one in documents if one["kind"] == "ServiceAccount"}
    used = {spec["serviceAccountName"] for _, spec in pods(documents)}
    bound = {one["subjects"][0]["name"] for one in documents if one["kind"] in ("RoleBinding", "ClusterRoleBinding")}
    assert used == accounts
    assert accounts - bound == {name for name in accounts if name.endswith("-edge")}  # it asks the cluster nothing


@pytest.mark.parametrize("case", list(CASES))
def test_everything_has_a_name_of_its_own(helm: Path, case: str) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in rendered(helm, CASES[case])]
    assert len(names) == len(set(names))
    assert not [name for name in names if "@" in name[1]]


def test_a_family_alone_has_its_own_rights_and_no_others(helm: Path) -> None:
    for family, foreign in (("dns", "score.dev"), ("score", "gateway.kgateway.dev")):
        roles = [one for one in rendered(helm, only(family)) if one["kind"] in ("ClusterRole", "Role")]
        running = [one for one in roles if one["metadata"]["labels"]["app.kubernetes.io/component"] != "install"]
        groups = {group for role in running for rule in role["rules"] for group in rule["apiGroups"]}
        assert groups
        assert foreign not in groups


def test_families_that_run_apart_have_a_lease_each(helm: Path) -> None:
    dns = {"enabled": True, "settings": {"dns_provider": "memory"}}
    documents = rendered(helm, {"controlPlane": {"perFamily": True}, "families": {"dns": dns}})
    leases = [
        variable["value"]
        for _, spec in pods(documents)
        for variable in spec["containers"][0].get("env", ())
        if variable["name"] == "SEAMARK_LEASE"
    ]
    assert len(leases) == len(set(leases)) == 6


def test_families_that_run_apart_get_the_files_and_settings_of_their_own_alone(helm: Path) -> None:
    found = dict(pods(rendered(helm, CASES["everything"])))
    dns, gateway = found["Deployment seamark-dns"], found["Deployment seamark-gateway"]
    assert [one["name"] for one in dns["volumes"]] == ["tmp"]
    assert [one["name"] for one in gateway["volumes"]] == ["tmp", "xds"]
    assert not [one["name"] for one in dns["containers"][0]["env"] if "GATEWAY" in one["name"] or "_LB_" in one["name"]]


def test_a_setting_arrives_as_the_program_reads_it(helm: Path) -> None:
    found: dict[str, Any] = {}
    for _, spec in pods(rendered(helm, CASES["everything"])):
        found |= {one["name"]: one.get("value") for one in spec["containers"][0].get("env", ())}
    assert found["SEAMARK_WORKERS"] == "1000"
    assert found["SEAMARK_WATCH_LIFETIME"] == "1000000"
    assert found["SEAMARK_DNS_ZONES"] == "example.com"
    assert found["SEAMARK_DNS_POLL"] == "5.5"


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a number that is a word": ({"controlPlane": {"replicas": "two"}}, "/controlPlane/replicas", "want integer"),
    "a switch that is a word": ({"crds": {"install": "yes"}}, "/crds/install", "want boolean"),
    "no replicas": ({"controlPlane": {"replicas": 0}}, "/controlPlane/replicas", "minimum"),
    "a value that nobody knows": ({"controlPlain": {}}, "controlPlain", "additional properties"),
    "a deep one": ({"edge": {"persistence": {"sise": "1Gi"}}}, "sise", "additional properties"),
    "a setting that nobody knows": ({"families": {"dns": {"settings": {"dns_zone": "x"}}}}, "dns_zone", "additional"),
    "a setting of the wrong type": ({"families": {"dns": {"settings": {"dns_poll": "often"}}}}, "dns_poll", "number"),
    "a setting that the chart makes": ({"controlPlane": {"settings": {"lease": "x"}}}, "lease", "additional"),
    "DNS without a provider": (
        {"families": {"dns": {"enabled": True}}},
        "families.dns.settings.dns_provider",
        "choose",
    ),
    "a source that is none": ({"families": {"dns": {"sources": ["node"]}}}, "/families/dns/sources", "one of"),
    "a digest that is none": ({"image": {"digest": "latest"}}, "/image/digest", "pattern"),
    "a level that is none": ({"controlPlane": {"logLevel": "loud"}}, "/controlPlane/logLevel", "one of"),
    "a size that is none": ({"edge": {"persistence": {"size": "big"}}}, "/edge/persistence/size", "pattern"),
    "no family": (only(), "no family is enabled", "families.NAME.enabled=true"),
    "no edge": (
        {"families": {"loadbalancer": {"enabled": True}}},
        "families.loadbalancer needs an edge",
        "edge.enabled=true",
    ),
    "an edge without an address": (
        {"families": {"bindings": {"enabled": True}}, "externalEdge": {"secretName": "edge"}},
        "externalEdge.url is empty",
        "https://",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_wrong_value_is_refused_in_one_line_that_names_it(helm: Path, case: str) -> None:
    values, *words = REFUSED[case]
    with pytest.raises(HelmFailed) as failed:
        rendered(helm, values)
    telling = [line for line in str(failed.value).splitlines() if all(word in line for word in words)]
    assert len(telling) == 1, str(failed.value)


def test_a_cluster_that_is_too_old_is_told(helm: Path) -> None:
    with pytest.raises(HelmFailed, match=r"requires kubeVersion: >=1\.30\.0-0 .* incompatible with Kubernetes v1\.29"):
        rendered(helm, {}, "--kube-version=1.29.4")


def ports_of(documents: list[dict[str, Any]], name: str) -> set[str]:
    (service,) = [one for one in documents if one["kind"] == "Service" and one["metadata"]["name"] == name]
    return {port["name"] for port in service["spec"]["ports"]}


def test_the_edges_api_is_inside_of_the_cluster_unless_it_is_asked_for_outside(helm: Path) -> None:
    values = only("loadbalancer")
    documents = rendered(helm, values)
    assert "api" not in ports_of(documents, "seamark-edge")
    (inside,) = [one for one in documents if one["kind"] == "Service" and one["metadata"]["name"] == "seamark-edge-api"]
    assert (inside["spec"]["type"], ports_of(documents, "seamark-edge-api")) == ("ClusterIP", {"api"})
    values["edge"]["service"] = {"api": True}
    assert "api" in ports_of(rendered(helm, values), "seamark-edge")


@pytest.mark.parametrize("what", ["Upstreams", "Bindings"])
@pytest.mark.parametrize("allowed", [False, True])
def test_operators_and_agents_have_one_rule_for_other_namespaces(helm: Path, what: str, allowed: bool) -> None:
    values = only("loadbalancer")
    values["families"]["loadbalancer"][f"crossNamespace{what}"] = allowed
    found = {
        variable["value"]
        for name, spec in pods(rendered(helm, values))
        if name.startswith("Deployment")
        for variable in spec["containers"][0]["env"]
        if variable["name"].endswith(f"CROSS_NAMESPACE_{what.upper()}")
    }
    assert found == ({"true"} if allowed else {"false"})
