"""An installation's life on the real API server: it starts, is upgraded, goes back, and leaves nothing behind.

The tests follow each other on one cluster, in the order of the file, as a platform engineer would do it.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from seamark.families.sample.family import GREETING
from seamark.lifecycle.parts import Installation, evidence_grants, install_grants, uninstall_grants
from seamark_runtime.rbac import Grant
from tests.cluster.requests import eventually, install
from tests.cluster.rights import refused, used
from tests.install.cases import FAMILIES, only
from tests.install.helm import CHART, NAMESPACE, Site
from tests.install.rights import granted, since, user
from tools.chart import USED

READY_WITHIN = 90.0  # on a machine that is busy with other things; what it took is printed
RECORD = {
    "apiVersion": "externaldns.k8s.io/v1alpha1",
    "kind": "DNSEndpoint",
    "metadata": {"name": "www", "namespace": "default"},
    "spec": {"endpoints": [{"dnsName": "www.example.test", "recordType": "A", "targets": ["192.0.2.1"]}]},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "shop", "namespace": "default"},
    "spec": {
        "type": "LoadBalancer",
        "loadBalancerClass": "ngrok",
        "ports": [{"port": 80}],
        "selector": {"app": "shop"},
    },
}
ZONE = {
    "enabled": True,
    "settings": {"dns_provider": "memory", "dns_zones": ["example.test"], "dns_memory_address": "127.0.0.1:15353"},
}
WHOLE: dict[str, Any] = {
    **only(*FAMILIES),
    "edge": {"enabled": True, "persistence": {"enabled": False}, "service": {"type": "ClusterIP"}},
    "controlPlane": {"replicas": 1},
    "agent": {"replicas": 1},
    "forwarder": {"replicas": 1},
    "console": {"enabled": True},
    "fence": {"enabled": True},
}
WHOLE["families"]["dns"] |= ZONE
WHOLE["families"]["gateway"] |= {"serviceType": "ClusterIP"}
ENDPOINT = {
    "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
    "kind": "AgentEndpoint",
    "metadata": {"name": "secure", "namespace": "default"},
    "spec": {
        "url": "tls://secure.example.test",
        "upstream": {"url": "tcp://shop.default:80"},
        "tlsTermination": {"serverCertificateRef": {"name": "served"}},
    },
}
GATEWAY = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "Gateway",
    "metadata": {"name": "front", "namespace": "default"},
    "spec": {"gatewayClassName": "kgateway", "listeners": [{"name": "web", "port": 8080, "protocol": "HTTP"}]},
}


def ready(site: Site, component: str, replicas: int) -> bool:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component={component}"
    found = site.machine.get(path)["items"]
    said = [one["status"] for pod in found for one in pod["status"].get("conditions", ()) if one["type"] == "Ready"]
    return said.count("True") == replicas == len(found)


def condition(site: Site, kind: str, name: str, type_: str, namespace: str = "default") -> str:
    path = f"jsonpath={{.status.conditions[?(@.type=='{type_}')].status}}"
    return site.machine.plane.kubectl("get", kind, name, "-n", namespace, "-o", path)


def apply(site: Site, document: dict[str, Any]) -> None:
    site.machine.plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(document))


def everything_of(site: Site) -> set[str]:
    """What is in the cluster for Seamark: objects of its namespace, and its own everywhere."""
    here = "all,secrets,configmaps,serviceaccounts,roles,rolebindings,leases,networkpolicies,poddisruptionbudgets,pvc"
    found = {f"{one['kind']} {one['metadata']['name']}" for one in site.objects(here, "-n", NAMESPACE)}
    everywhere = site.objects("clusterroles,clusterrolebindings", "-l=app.kubernetes.io/name=seamark")
    found |= {f"{one['kind']} {one['metadata']['name']}" for one in everywhere}
    return found - {"ConfigMap kube-root-ca.crt", "ServiceAccount default"}


def test_with_defaults_the_control_plane_is_ready_at_once(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    where = ("--namespace", NAMESPACE, "--create-namespace")
    site.run("install", "seamark", str(CHART), *where, values={"families": {"dns": ZONE}})
    eventually(lambda: ready(site, "control-plane", 2), "the control plane is ready", READY_WITHIN)
    with capsys.disabled():
        sys.stdout.write(f"\ninstall: ready_s={time.monotonic() - began:.1f}\n")
    apply(site, RECORD)
    eventually(lambda: condition(site, "dnsendpoint", "www", "Ready") == "True", "a record is served", 60)


def test_an_uninstall_that_was_cut_off_is_finished_by_the_next_attempt(site: Site) -> None:
    site.machine.plane.kubectl("delete", "secret", "-n", NAMESPACE, "seamark-ca", "seamark-xds")
    site.uninstall()
    eventually(lambda: not everything_of(site), "nothing is left", 60)


def test_an_older_version_is_upgraded_and_brought_back_with_objects_in_place(site: Site, tmp_path: Path) -> None:
    older = previous(tmp_path / "older")
    where = ("--namespace", NAMESPACE, "--wait", "--timeout=180s")
    site.run("install", "seamark", str(older), *where, values={"families": {"dns": ZONE}})
    eventually(lambda: condition(site, "dnsendpoint", "www", "Ready") == "True", "the old one serves", 60)
    before = site.objects("dnsendpoints", "-A")[0]["metadata"]["uid"]

    site.upgrade(values={"families": {"dns": ZONE}, "console": {"enabled": True}})
    assert version_of(site) == versions(CHART)[1]
    eventually(lambda: ready(site, "console", 1), "what is new in it runs", 60)

    site.run("rollback", "seamark", "1", *where)
    assert version_of(site) == versions(older)[1]
    eventually(lambda: not site.objects("pods", "-n", NAMESPACE, "-l=app.kubernetes.io/component=console"), "gone", 60)
    kept = site.objects("dnsendpoints", "-A")[0]
    assert kept["metadata"]["uid"] == before
    eventually(lambda: condition(site, "dnsendpoint", "www", "Ready") == "True", "and it still serves", 60)


def previous(place: Path) -> Path:
    """The chart as it may have been a version ago."""
    shutil.copytree(CHART, place)
    chart = place / "Chart.yaml"
    number, program = versions(CHART)
    chart.write_text(chart.read_text().replace(f"version: {number}", "version: 0.0.9").replace(program, "0.0.9"))
    return place


def versions(chart: Path) -> tuple[str, str]:
    told = yaml.safe_load((chart / "Chart.yaml").read_text())
    return told["version"], told["appVersion"]


def version_of(site: Site) -> str:
    labels = site.objects("deployments", "-n", NAMESPACE, "-l=app.kubernetes.io/component=control-plane")[0]["metadata"]
    return str(labels["labels"]["app.kubernetes.io/version"])


def shop(site: Site) -> Any:
    """Where the Service is reached."""
    found = [one for one in site.objects("services", "-n=default") if one["metadata"]["name"] == "shop"]
    return found[0]["status"].get("loadBalancer", {}).get("ingress")


def test_with_everything_on_all_of_it_works(site: Site) -> None:
    site.uninstall()
    install(site.machine.plane, GREETING)  # no family of the chart has it; the console shows it where it is
    site.install("seamark", WHOLE)
    apply(site, SERVICE)
    apply(site, GATEWAY)
    everything_works(site)
    ours = [
        one for one in site.objects("services,dnsendpoints", "-n=default") if one["metadata"]["name"] != "kubernetes"
    ]
    assert all(one["metadata"].get("finalizers") for one in ours)


def everything_works(site: Site) -> None:
    """An object of each family that has one here, and every part."""
    eventually(lambda: condition(site, "dnsendpoint", "www", "Ready") == "True", "the record is served", 90)
    eventually(lambda: shop(site), "the Service has an address at the edge", 90)
    eventually(lambda: condition(site, "kubernetesoperator", "seamark", "Ready", NAMESPACE) == "True", "registered", 90)
    eventually(lambda: condition(site, "gateway", "front", "Programmed") == "True", "an Envoy serves the gateway", 90)
    parts = ("agent", "bindings-forwarder", "console", "edge")
    eventually(lambda: all(ready(site, part, 1) for part in parts), "every part is ready", 90)


def test_a_bundle_of_it_has_its_logs_and_none_of_its_secrets(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    command = [sys.executable, "-m", "seamark", "bundle", "-o", str(path), "-n", NAMESPACE]
    subprocess.run([*command, f"--kubeconfig={site.machine.plane.kubeconfig}"], check=True, capture_output=True)
    with tarfile.open(path) as archive:
        texts = {one.name: archive.extractfile(one).read().decode() for one in archive if one.isfile()}  # type: ignore[union-attr]
    assert any("/logs/seamark-edge-0/" in name for name in texts)
    assert "bundle/objects/kubernetesoperators.ngrok.k8s.ngrok.com.yaml" in texts
    assert "bundle/not-read.txt" not in texts
    hidden = [
        base64.b64decode(value).decode().strip()
        for secret in site.objects("secrets", "-n", NAMESPACE)
        if secret["type"] == "Opaque"
        for name, value in secret["data"].items()
        if name in ("api-key", "agent-token", "tls.key", "ca.key")
    ]
    assert len(hidden) >= 5
    for secret in hidden:
        assert not [name for name, text in texts.items() if secret in text]


@pytest.mark.parametrize("part", ["agent", "forwarder", "console"])
def test_a_part_uses_every_right_that_it_has_and_wants_no_other(site: Site, part: str) -> None:
    """The control plane's rights are compared family by family, in tests/cluster."""
    account = f"seamark-{part}"
    if part == "agent":
        apply(site, ENDPOINT)  # it names a Secret
    elif part == "console":
        see(site)
        prove(site)

    def unused() -> list[Grant]:
        return sorted(rights - used(since(site, account), user(account)))

    rights = granted(site, account)
    assert rights
    try:
        eventually(lambda: not unused(), "every right is used", 30)
    except AssertionError:
        raise AssertionError(f"{account} has rights that it never used: {unused()}") from None
    finally:
        site.machine.plane.kubectl("delete", "agentendpoint", "secure", "-n=default", "--ignore-not-found")
    assert refused(since(site, account), user(account)) == []


def see(site: Site) -> None:
    """What a user with a token does on the page: it begins with all that they may see."""
    assert asked(site, "/api/stream") == b"event: all\n"


def asked(site: Site, path: str, body: bytes | None = None) -> bytes:
    """The first line of the console's answer to a user with a token."""
    (pod,) = site.objects("pods", "-n", NAMESPACE, "-l=app.kubernetes.io/component=console")
    token = site.machine.plane.user("admin").token
    url = f"http://{pod['status']['podIP']}:8090{path}"
    question = urllib.request.Request(url, body, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(question, timeout=30) as page:
        line: bytes = page.readline()
        return line


def prove(site: Site) -> None:
    """What is behind a record's condition: the console asks the control plane, which asks who wants to know."""
    body = json.dumps([{"kind": "dnsendpoint", "namespace": "default", "name": "www"}]).encode()
    eventually(lambda: "answered" in str(asked(site, "/api/evidence", body)), "there is evidence", 30)
    assert evidence_grants() <= used(since(site, "seamark"), user("seamark"))
    assert evidence_grants() <= granted(site, "seamark")


def test_an_uninstall_strands_nothing(site: Site) -> None:
    """Neither what an earlier version has left: the certificate that all Envoys shared."""
    former = {"name": "seamark-xds-client", "namespace": NAMESPACE}
    apply(site, {"apiVersion": "v1", "kind": "Secret", "metadata": former, "stringData": {"tls.key": "former"}})
    site.uninstall()
    nothing_is_stranded(site)


def nothing_is_stranded(site: Site) -> None:
    """Users' objects are there, without a finalizer of ours; nothing else is."""
    eventually(lambda: not everything_of(site), "nothing is left", 60)
    kinds = "services,dnsendpoints,agentendpoints,cloudendpoints,domains,boundendpoints,kubernetesoperators"
    assert not [one for one in site.objects(kinds, "-A") if one["metadata"].get("finalizers")]
    assert [one["metadata"]["name"] for one in site.objects("dnsendpoints", "-A")] == ["www"]
    assert shop(site) is None
    assert not site.objects("agentendpoints", "-A")


def test_families_run_apart_each_under_its_own_account(site: Site) -> None:
    site.install("seamark", {**WHOLE, "controlPlane": {"replicas": 1, "perFamily": True}})
    pods = site.objects("pods", "-n", NAMESPACE, "-l=app.kubernetes.io/component=control-plane")
    accounts = {f"seamark-{name}" for name in (*FAMILIES, "score-registrar", "score-mirror", "score-runtime")}
    accounts = (accounts - {"seamark-score"}) | {"seamark-score-orchestrator"}
    assert {pod["spec"]["serviceAccountName"] for pod in pods} == accounts
    assert len(pods) == len(accounts)
    eventually(lambda: ready(site, "control-plane", len(accounts)), "every family is ready", READY_WITHIN)
    everything_works(site)

    site.uninstall()
    nothing_is_stranded(site)


def test_the_jobs_had_every_right_that_they_wanted_and_used_what_is_theirs_alone(site: Site) -> None:
    """In all that was done here. The one that lets everything go also works for the families, with their rights."""
    apart, together = Installation("seamark", NAMESPACE, split=True), Installation("seamark", NAMESPACE)
    entries = list(site.machine.plane.audit.entries())
    for job, rights in {
        "install": install_grants(together, [crd for family in USED for crd in family.crds]),
        "uninstall": uninstall_grants(together, USED) | uninstall_grants(apart, USED),
    }.items():
        assert refused(entries, user(f"seamark-{job}")) == []
        assert sorted(rights - used(entries, user(f"seamark-{job}"))) == [], job
