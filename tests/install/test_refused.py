"""What can't be installed is reported in one line, and nothing is half installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cluster.requests import eventually
from tests.install.cases import only
from tests.install.helm import CHART, HelmFailed, Site

HERE = "elsewhere"
FOREIGN = "trafficpolicies.gateway.kgateway.dev"


@pytest.fixture(scope="module", autouse=True)
def namespace(site: Site) -> Iterator[None]:
    """A namespace in which alice may do everything; of the rest she sees nothing, bob everything."""
    kubectl = site.machine.plane.kubectl
    site.machine.namespace(HERE)
    for user in ("alice", "bob"):
        kubectl("create", "rolebinding", user, "--clusterrole=cluster-admin", f"--user={user}", "-n", HERE)
    kubectl("create", "clusterrole", "sees", "--verb=get,list,watch", "--resource=*.*")
    kubectl("create", "clusterrolebinding", "sees", "--clusterrole=sees", "--user=bob")
    yield
    kubectl("delete", "clusterrolebinding,clusterrole", "sees")
    kubectl("delete", "namespace", HERE, "--wait=false")


def try_to_install(site: Site, values: dict[str, Any], user: str = "admin", *options: str) -> str:
    """The output of Helm."""
    where = ("--namespace", HERE, *options)
    config = site.machine.plane.kubeconfig_of(user)
    with pytest.raises(HelmFailed) as failed:
        site.run("install", "sea", str(CHART), *where, values=values, kubeconfig=config)
    return str(failed.value)


def ours(site: Site) -> set[str]:
    here = "all,secrets,configmaps,serviceaccounts,roles,leases,networkpolicies,poddisruptionbudgets,pvc"
    found = site.objects(here, "-n", HERE) + site.objects("clusterroles,clusterrolebindings", f"-l={LABEL}")
    names = {f"{one['kind']} {one['metadata']['name']}" for one in found}
    return names - {"ConfigMap kube-root-ca.crt", "ServiceAccount default"}


LABEL = "app.kubernetes.io/instance=sea"


def test_a_right_to_look_at_definitions_that_is_missing(site: Site) -> None:
    said = try_to_install(site, {}, "alice")
    lines = [line for line in said.splitlines() if "forbidden" in line]
    assert len(lines) == 1, said
    assert 'User "alice" cannot get resource "customresourcedefinitions"' in lines[0]
    assert not ours(site)


def test_a_right_to_make_roles_that_is_missing(site: Site) -> None:
    said = try_to_install(site, {}, "bob")
    try:
        assert re.search(r'forbidden: User "bob" cannot \w+ resource "clusterroles"', said), said
        assert len(said.splitlines()) == 1
        assert ours(site) == {"Secret sh.helm.release.v1.sea.v1"}  # Helm's own note that it failed
    finally:
        site.run("uninstall", "sea", "--namespace", HERE, "--no-hooks")
    assert not ours(site)


def test_a_definition_that_serves_another_version(site: Site) -> None:
    kubectl = site.machine.plane.kubectl
    kubectl("delete", "crd", FOREIGN, "--ignore-not-found")
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump(foreign(FOREIGN, "TrafficPolicy", "v2")))
    try:
        said = try_to_install(site, only("gateway"))
        words = f"the cluster's {FOREIGN} serves v2, but gateway needs v1alpha1: upgrade or remove that definition"
        assert len([line for line in said.splitlines() if words in line]) == 1, said
        assert not ours(site)
        rendered = site.run("template", "sea", str(CHART), "--namespace", HERE, values=only("dns"))
        assert rendered  # a family that does not need it is not held up
    finally:
        kubectl("delete", "crd", FOREIGN)


def test_a_refusal_by_the_job_is_shown_and_leaves_nothing(site: Site) -> None:
    """Kinds of the Gateway API are looked at by the Job: its words are Helm's."""
    kubectl, grants = site.machine.plane.kubectl, "referencegrants.gateway.networking.k8s.io"
    kubectl("delete", "crd", grants, "--ignore-not-found")
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump(foreign(grants, "ReferenceGrant", "v1alpha2")))
    try:
        said = try_to_install(site, only("gateway"), "admin", "--timeout=120s")
        words = f"nothing was installed. {grants}: it is not Seamark's, and serves v1alpha2 but not"
        assert len([line for line in said.splitlines() if words in line]) == 1, said
        left = {"Secret sh.helm.release.v1.sea.v1"}  # Helm's own note that it failed
        eventually(lambda: ours(site) <= left, "nothing else is left", 60)
    finally:
        kubectl("delete", "crd", grants)
        site.run("uninstall", "sea", "--namespace", HERE, "--no-hooks", "--ignore-not-found")


def foreign(name: str, kind: str, version: str) -> dict[str, Any]:
    """A foreign definition."""
    plural, _, group = name.partition(".")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    approved = {"api-approved.kubernetes.io": "unapproved, for a test"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": approved},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [served],
        },
    }


IMMUTABLE = {
    "a size": ({"size": "2Gi"}, "edge.persistence.size can't be changed from 1Gi to 2Gi"),
    "a class": ({"storageClass": "fast"}, 'edge.persistence.storageClass can\'t be changed from "" to "fast"'),
    "no volume": ({"enabled": False}, "edge.persistence.enabled can't be changed"),
}


@pytest.fixture(scope="module")
def with_a_volume(site: Site) -> Iterator[None]:
    site.run("install", "sea", str(CHART), "--namespace", HERE, "--no-hooks", values=only("loadbalancer"))
    yield
    site.run("uninstall", "sea", "--namespace", HERE, "--no-hooks")


@pytest.mark.parametrize("case", list(IMMUTABLE))
def test_a_field_that_nobody_may_change(site: Site, with_a_volume: None, case: str) -> None:
    changed, words = IMMUTABLE[case]
    values = only("loadbalancer")
    values["edge"]["persistence"] = changed
    values["agent"] = {"replicas": 5}
    with pytest.raises(HelmFailed) as failed:
        site.run("upgrade", "sea", str(CHART), "--namespace", HERE, "--no-hooks", values=values)
    assert len([line for line in str(failed.value).splitlines() if words in line and "keep the old value" in line]) == 1
    agents = site.objects("deployments", "-n", HERE, "-l=app.kubernetes.io/component=agent")
    assert agents[0]["spec"]["replicas"] == 2  # nothing else was changed either
    assert site.run("history", "sea", "--namespace", HERE, "--output=json").count('"revision"') == 1
