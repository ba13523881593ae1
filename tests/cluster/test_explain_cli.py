"""`seamark explain` and `seamark status` on a real API server, as people with different rights see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seamark.api.dnssources import NamedGRPCRoute, NamedHTTPRoute, NamedTCPRoute, NamedTLSRoute
from seamark.cli.families import FAMILIES
from seamark.cli.main import app
from seamark.explain import kinds
from seamark.families.sample.family import GREETING
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.errors import UserError
from tests.cluster.requests import install, request

AS_OF, MERGE = "2026-01-01T00:01:00Z", "application/merge-patch+json"
ROUTES = (NamedHTTPRoute, NamedGRPCRoute, NamedTLSRoute, NamedTCPRoute)  # that DNS reads names from
READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [services], verbs: [get, list]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list]}
- {apiGroups: [sample.seamark.dev], resources: [greetings], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: carol}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def admin(control_plane: ControlPlane, namespace: str) -> tuple[str, ...]:
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", stdin=SERVICE)
    return ("-n", namespace, "--kubeconfig", str(control_plane.kubeconfig_of("admin")))


def test_a_service_without_pods_is_explained(admin: tuple[str, ...], namespace: str) -> None:
    text = run("explain", "svc/web", *admin)
    assert "there is none with app=web" in text
    assert "The first broken hop is" in text
    found = json.loads(run("explain", "svc/web", "-o", "json", *admin))
    assert found["tree"]["namespace"] == namespace
    assert found["broken"]["kind"] in ("EndpointSlice", "Pod")


def test_it_works_within_what_a_person_may_read(
    control_plane: ControlPlane, admin: tuple[str, ...], namespace: str
) -> None:
    install(control_plane, GREETING)  # the one kind that carol will be allowed to list; no other test gives her rights
    carol = (
        "-n",
        namespace,
        "--kubeconfig",
        str(control_plane.kubeconfig_of("carol")),
    )
    with pytest.raises(UserError, match="you may not read Service"):
        run("explain", "svc/web", *carol)
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", stdin=READER)
    assert "you may not read it" in run("explain", "svc/web", *carol)
    assert "You may not list workloads.score.dev" in run("status", *carol)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("explain", "service/nobody"), "there is no Service"),
        (("explain", "unicorn/web"), "there is no kind 'unicorn'"),
        (("explain", "web"), "names no object"),
    ],
)
def test_bad_input_gets_one_line(admin: tuple[str, ...], arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(UserError, match=words):
        run(*arguments, *admin)


def test_a_broken_kubeconfig_gets_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "config"
    broken.write_text("clusters: [")
    with pytest.raises(UserError):
        run("explain", "svc/web", "--kubeconfig", str(broken))


def test_status_counts_by_family_and_namespace(
    control_plane: ControlPlane, admin: tuple[str, ...], namespace: str
) -> None:
    install(control_plane, GREETING)
    path = f"/apis/sample.seamark.dev/v1alpha1/namespaces/{namespace}/greetings"
    body = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "spec": {"text": "hello"}}
    for number in range(3):
        assert request(control_plane, "POST", path, {**body, "metadata": {"name": f"g{number}"}}).code == 201
    counted = json.loads(run("status", "-o", "json", *admin))
    (row,) = [row for row in counted["rows"] if row["kind"] == "Greeting"]
    counts = {"true": 0, "false": 0, "unknown": 3}
    assert row == {"family": "sample", "kind": "Greeting", "namespace": namespace, **counts, "asOf": ""}
    assert len([one for one in counted["troubles"] if one["kind"] == "Greeting"]) == 3
    assert "Why: seamark explain" in run("status", *admin)


def test_every_kind_is_named_at_the_version_that_its_definition_serves() -> None:
    definitions = [crd.manifest() for family in FAMILIES.values() for crd in family.crds]
    definitions += [one for family in FAMILIES.values() for one in family.published()]
    served = {
        (one["spec"]["group"], one["spec"]["names"]["plural"], version["name"])
        for one in definitions
        for version in one["spec"]["versions"]
        if version["served"]
    }
    named = {(kind.group, kind.plural, kind.version) for kind in (*kinds.OURS, *(one.RESOURCE for one in ROUTES))}
    assert named - served == set()


def test_a_stopped_operator_is_shown_with_the_time_of_its_last_renewal(
    control_plane: ControlPlane, admin: tuple[str, ...], namespace: str
) -> None:
    install(control_plane, GREETING)
    path = f"/apis/sample.seamark.dev/v1alpha1/namespaces/{namespace}/greetings"
    body = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "spec": {"text": "hello"}}
    assert request(control_plane, "POST", path, {**body, "metadata": {"name": "hello"}}).code == 201
    ready = {"type": "Ready", "status": "True", "reason": "Posted", "message": "", "lastTransitionTime": AS_OF}
    status = {"status": {"observedGeneration": 1, "conditions": [ready]}}
    answer = request(control_plane, "PATCH", f"{path}/hello/status", status, content_type=MERGE)
    assert answer.code == 200, answer.body
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    marks = {"labels": {"seamark.dev/operator-lease": "true"}, "annotations": {"seamark.dev/families": "sample"}}
    spec = {"holderIdentity": "gone", "leaseDurationSeconds": 15, "renewTime": f"{AS_OF[:-1]}.000000Z"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x", **marks}, "spec": spec}
    assert request(control_plane, "POST", leases, lease).code == 201
    try:
        shown = run("status", *admin)
        assert f"No operator leads since {AS_OF}: sample (Lease {namespace}/x). Statuses are as of then." in shown
        explained = run("explain", "greeting/hello", "-n", namespace, *admin)
        assert f"No status shows a problem as of {AS_OF}; since then no operator leads." in explained
        assert "Nothing is broken" not in explained
    finally:
        assert request(control_plane, "DELETE", f"{leases}/x").code == 200
