"""The real API server takes everything that the chart makes: a dry run on its side, with every field checked."""

from __future__ import annotations

import pytest
import yaml

from tests.install.cases import CASES
from tests.install.helm import NAMESPACE, Site, rendered

MONITORING = {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"}


@pytest.fixture(scope="module", autouse=True)
def place(site: Site) -> None:
    """The namespace, and the kinds of the Prometheus operator as far as anybody looks at them here."""
    kubectl = site.machine.plane.kubectl
    kubectl("create", "namespace", NAMESPACE, "--dry-run=client", "-o=yaml")
    names = [one["metadata"]["name"] for one in site.objects("namespaces")]
    if NAMESPACE not in names:
        kubectl("create", "namespace", NAMESPACE)
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(definition(*names) for names in MONITORING.items()))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


def definition(kind: str, plural: str) -> dict[str, object]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    group = "monitoring.coreos.com"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


@pytest.mark.parametrize("case", list(CASES))
def test_the_api_server_takes_it_all(site: Site, case: str) -> None:
    documents = rendered(site.helm, CASES[case])
    dry = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "--namespace", NAMESPACE, "-f", "-")
    told = site.machine.plane.kubectl(*dry, stdin=yaml.safe_dump_all(documents))
    assert len(told.splitlines()) == len(documents), told
