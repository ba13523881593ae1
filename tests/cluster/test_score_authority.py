"""Each Score controller works as its own account with its own role, and is refused beyond it.

The roles, accounts and policies are those that `seamark score authority` prints.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from seamark.families.score.authority.roles import documents
from seamark.families.score.family import CRDS, SCORE, without_runtime
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.requests import Answer, eventually, install, request
from tests.cluster.score_operator import MERGE, Cluster, running, running_as, send_as

SYSTEM = "score-system"
URL = "https://app.example.com"
ECS = """
spec:
  profiles: [{name: any, backends: [{backendId: e, runtimeClass: ecs}]}]
  defaults: {profile: any}
"""
PATHS = {
    "ServiceAccount": f"/api/v1/namespaces/{SYSTEM}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/roles",
    "RoleBinding": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/rolebindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}
GROUP = "rbac.authorization.k8s.io"


def token(plane: ControlPlane, account: str) -> str:
    path = f"{PATHS['ServiceAccount']}/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(request(plane, "POST", path, body).body["status"]["token"])


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """One of its own: the fence is for the whole cluster."""
    with ControlPlane() as plane:
        for crd in CRDS:
            install(plane, crd)
        assert request(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": SYSTEM}}).code == 201
        config = {"metadata": {"name": "orchestrator-config"}, "data": {"config.yaml": ECS}}
        assert request(plane, "POST", f"/api/v1/namespaces/{SYSTEM}/configmaps", config).code == 201
        for document in documents(SCORE, SYSTEM, ("ecs",)):
            made = request(plane, "POST", f"{PATHS[document['kind']]}?fieldValidation=Strict", document)
            assert made.code == 201, made.body
        for runtime in ("ecs", "nomad"):
            assert request(plane, "POST", PATHS["ServiceAccount"], {"metadata": {"name": runtime}}).code == 201
            bind(plane, "score-foreign-runtime", runtime)
        bind(plane, "score-publisher-ecs", "ecs")
        yield plane


def bind(plane: ControlPlane, role: str, account: str) -> None:
    binding = {
        "metadata": {"name": f"{role}-{account}"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": SYSTEM}],
    }
    made = request(plane, "POST", PATHS["ClusterRoleBinding"], binding)
    assert made.code == 201, made.body


def name(account: str) -> str:
    return f"system:serviceaccount:{SYSTEM}:{account}"


def test_each_controller_works_with_its_role_alone_and_is_refused_beyond_it(plane: ControlPlane) -> None:
    cluster = Cluster(plane, "default")
    runtime = token(plane, "ecs")
    with ExitStack() as stack:
        for part in SCORE:
            stack.enter_context(running_as(plane, part.controllers(), token(plane, part.name)))
        cluster.apply(service={"ports": [{"port": 80}]}, resources={"name": {"type": "dns"}})
        exposure = cluster.until_exposed()
        assert exposure["spec"]["runtimeClass"] == "ecs"
        path = cluster.path("workloadexposures", "app", "status")
        published = send_as(plane, runtime, "PATCH", path, {"status": {"exposures": [{"url": URL}]}}, MERGE)
        assert published.code == 200, published.body
        cluster.until_endpoint(URL)
        cluster.until_condition("Ready", "True", "Succeeded")
        cluster.delete("workloadexposures")
        cluster.until_exposed()
        cluster.edit({"spec": {"resources": {"name": None}}})
        cluster.until_exposed(generation=2)
        cluster.until(lambda: cluster.get("resourceclaims", "app.name") == {}, "the claim is gone")
        refused_beyond(plane, cluster)


def refused_beyond(plane: ControlPlane, cluster: Cluster) -> None:
    """What none of them may do, by role or by fence."""

    def attempt(account: str, plural: str, subresource: str, patch: dict[str, Any], how: str = "") -> Answer:
        path = cluster.path(plural, "app", subresource)
        return send_as(plane, token(plane, account), "PATCH", f"{path}{how}", patch, MERGE)

    def stands() -> bool:
        """The server needs a moment to know of a new policy."""
        return attempt("score-orchestrator", "workloads", "status", lie, "?dryRun=All").code == 422

    spec = {"spec": {"runtimeClass": "mine"}}
    lie = {"status": {"endpoint": "https://lie.example.com"}}
    eventually(stands, "the fence stands")
    conditions = cluster.get("workloads")["status"]["conditions"]
    mine = [{**one, "message": "mine"} if one["type"] == "InputsValid" else one for one in conditions]
    for account, plural, subresource, patch, words in (
        ("score-mirror", "workloadexposures", "status", {"status": {"exposures": []}}, "cannot patch"),
        ("score-mirror", "workloads", "", {"spec": {"profile": "x"}}, "cannot patch"),
        ("score-mirror", "workloads", "status", {"status": {"conditions": mine}}, "are the orchestrator's to say"),
        ("score-orchestrator", "workloads", "status", lie, "are the mirror's to say"),
        ("score-orchestrator", "workloadexposures", "", spec, "cannot patch"),
        ("score-registrar", "workloads", "status", lie, "cannot patch"),
        ("score-registrar", "workloadexposures", "status", {"status": {"exposures": []}}, "cannot patch"),
        ("score-runtime", "workloadexposures", "", spec, "cannot patch"),
        ("ecs", "workloadexposures", "", spec, "cannot patch"),
        ("ecs", "workloads", "status", lie, "cannot patch"),
    ):
        answer = attempt(account, plural, subresource, patch)
        assert answer.code in (403, 422), (account, plural, subresource, answer.body)
        assert words in answer.body["message"]


def test_no_controller_reads_what_is_not_its_business(plane: ControlPlane) -> None:
    everywhere = {
        "score-runtime": ["/apis/score.dev/v1b1/workloads", "/apis/score.dev/v1b1/resourceclaims", "/api/v1/secrets"],
        "score-mirror": ["/api/v1/secrets", "/api/v1/configmaps", "/api/v1/services", "/apis/apps/v1/deployments"],
        "score-registrar": ["/api/v1/secrets", "/api/v1/configmaps", "/apis/score.dev/v1b1/resourceclaims"],
        "score-orchestrator": ["/api/v1/secrets", "/api/v1/services", "/apis/score.dev/v1b1/workloadexposures"],
        "ecs": ["/apis/score.dev/v1b1/workloads", "/api/v1/secrets", "/api/v1/services"],
    }
    for account, paths in everywhere.items():
        own = token(plane, account)
        for path in paths:
            answer = send_as(plane, own, "GET", path, None, "application/json")
            assert answer.code == 403, (account, path)
            assert "cannot list" in answer.body["message"]


def test_the_fence_holds_for_people_with_all_rights_too(plane: ControlPlane) -> None:
    """Only the group that mends a broken cluster is let through."""
    cluster = Cluster(plane, "default")
    cluster.apply("fenced")
    account = {"metadata": {"name": "boss"}}
    assert request(plane, "POST", PATHS["ServiceAccount"], account).code == 201
    binding = {
        "metadata": {"name": "boss"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "boss", "namespace": SYSTEM}],
    }
    assert request(plane, "POST", PATHS["ClusterRoleBinding"], binding).code == 201
    boss = token(plane, "boss")
    path = cluster.path("workloads", "fenced", "status")
    lie = {"status": {"endpoint": "https://lie.example.com"}}
    attempt = f"{path}?dryRun=All"  # the server needs a moment to know of a new policy
    eventually(lambda: send_as(plane, boss, "PATCH", attempt, lie, MERGE).code == 422, "the fence stands")
    for status, words in (
        ({"endpoint": "https://lie.example.com"}, "the mirror's to say"),
        ({"observedGeneration": 7}, "the orchestrator's to say"),
        ({"claims": [{"key": "a", "phase": "Bound"}]}, "the orchestrator's to say"),
    ):
        answer = send_as(plane, boss, "PATCH", path, {"status": status}, MERGE)
        assert answer.code == 422, answer.body
        assert words in answer.body["message"]
    spec = {"workloadRef": {"name": "fenced"}, "observedWorkloadGeneration": 1, "runtimeClass": "mine"}
    body = {"apiVersion": "score.dev/v1b1", "kind": "WorkloadExposure", "metadata": {"name": "fenced"}, "spec": spec}
    made = send_as(plane, boss, "POST", cluster.path("workloadexposures"), body, "application/json")
    assert made.code == 422, made.body
    assert "the registrar's to write" in made.body["message"]
    assert send_as(plane, boss, "DELETE", cluster.path("workloads", "fenced"), None, "application/json").code == 200


def test_a_developer_sees_no_exposures_and_needs_none(plane: ControlPlane) -> None:
    def may(resource: str, verb: str, group: str = "score.dev") -> bool:
        attributes = {"resource": resource, "verb": verb, "group": group, "namespace": "default"}
        body = {"spec": {"user": "dev", "groups": ["developers"], "resourceAttributes": attributes}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(request(plane, "POST", path, body).body["status"]["allowed"])

    binding = {
        "metadata": {"name": "developers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "developers"}],
    }
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    assert request(plane, "POST", path, binding).code == 201
    eventually(lambda: may("workloads", "create"), "developers may make Workloads")
    assert may("workloadplans", "get")
    for verb in ("get", "list", "watch", "create", "patch"):
        assert not may("workloadexposures", verb)


def test_the_minimal_runtime_of_the_guide_makes_a_workload_ready(plane: ControlPlane, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "score.md").read_text()
    program = tmp_path / "runtime.py"
    program.write_text(guide.partition("```python\n")[2].partition("```")[0])
    cluster = Cluster(plane, "default")
    arguments = [plane.url, str(plane.ca), token(plane, "ecs"), "ecs"]
    with running(plane, without_runtime(), "admin"):  # the status policy admits only the parts and masters
        runtime = subprocess.Popen([sys.executable, "-W", "ignore", str(program), *arguments], stderr=subprocess.PIPE)
        try:
            cluster.apply("guided")
            cluster.until_endpoint("https://guided.default.example.com", "guided")
            cluster.until_condition("Ready", "True", "Succeeded", "guided")
            cluster.edit({"spec": {"containers": {"main": {"image": "nginx:2"}}}}, "guided")
            cluster.until_condition("Ready", "True", "Succeeded", "guided")
        finally:
            runtime.kill()
            _, words = runtime.communicate()
        assert words == b"", words


def test_only_the_runtime_of_its_class_publishes_for_an_exposure(plane: ControlPlane) -> None:
    """A tenant has every right in the namespace, and another runtime that of the contract: neither is enough."""
    cluster = Cluster(plane, "default")
    spec = {"workloadRef": {"name": "mine", "uid": "u"}, "observedWorkloadGeneration": 1, "runtimeClass": "ecs"}
    body = {"apiVersion": "score.dev/v1b1", "kind": "WorkloadExposure", "metadata": {"name": "mine"}, "spec": spec}
    assert request(plane, "POST", cluster.path("workloadexposures"), body).code == 201
    tenant = {"metadata": {"name": "tenant"}}
    assert request(plane, "POST", PATHS["ServiceAccount"], tenant).code == 201
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    roles = f"/apis/{GROUP}/v1/namespaces/default"
    assert request(plane, "POST", f"{roles}/roles", {"metadata": {"name": "all"}, "rules": rules}).code == 201
    binding = {
        "metadata": {"name": "all"},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "all"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": SYSTEM}],
    }
    assert request(plane, "POST", f"{roles}/rolebindings", binding).code == 201
    path = cluster.path("workloadexposures", "mine", "status")

    def publish(account: str) -> Answer:
        status = {"status": {"exposures": [{"url": f"https://{account}.example.com"}]}}
        return send_as(plane, token(plane, account), "PATCH", path, status, MERGE)

    eventually(lambda: publish("ecs").code == 200, "the runtime of the class publishes")
    eventually(lambda: "the right to publish" in publish("tenant").body.get("message", ""), "the tenant is refused")
    refused = publish("nomad")
    assert (refused.code, "the right to publish" in refused.body["message"]) == (422, True)
    found = request(plane, "GET", cluster.path("workloadexposures", "mine")).body["status"]["exposures"]
    assert found == [{"url": "https://ecs.example.com"}]
