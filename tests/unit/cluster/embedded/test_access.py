"""Users, roles and reviews; the subresources other than status."""

from __future__ import annotations

from dataclasses import replace

from seamark_cluster.embedded import User
from tests.unit.cluster.embedded.conftest import MERGE, WIDGETS, Cluster, Json, config_map, definition, widget

MAPS = "/api/v1/namespaces/default/configmaps"
ALICE = User("alice", ("developers",))
RBAC = "rbac.authorization.k8s.io"


def bind(cluster: Cluster, verbs: list[str], resources: list[str], subject: Json) -> None:
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": resources, "verbs": verbs}],
    }
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "r"},
        "subjects": [subject],
    }
    cluster.store.create(role)
    cluster.store.create(binding)


def test_a_user_without_a_role_may_do_nothing(cluster: Cluster) -> None:
    refusal = replace(cluster, user=ALICE).refused(403, "GET", MAPS)
    why = 'User "alice" cannot list resource "configmaps" in API group "" in the namespace "default"'
    assert refusal["message"] == f"configmaps is forbidden: {why}"


def test_a_right_reaches_members_of_a_group_until_it_is_withdrawn(cluster: Cluster) -> None:
    bind(cluster, ["list"], ["configmaps"], {"kind": "Group", "name": "developers", "apiGroup": RBAC})
    alice = replace(cluster, user=ALICE)
    alice.ok("GET", MAPS)
    alice.refused(403, "POST", MAPS, config_map())


def test_withdrawn_rights_can_be_given_back(cluster: Cluster) -> None:
    bind(cluster, ["list"], ["configmaps"], {"kind": "User", "name": "alice", "apiGroup": RBAC})
    alice = replace(cluster, user=ALICE)
    alice.ok("GET", MAPS)
    taken = cluster.store.withdraw(ALICE)
    alice.refused(403, "GET", MAPS)
    for binding in taken:
        cluster.store.create(binding)
    alice.ok("GET", MAPS)


def test_a_review_returns_what_would_be_allowed(cluster: Cluster) -> None:
    bind(cluster, ["get"], ["configmaps"], {"kind": "User", "name": "alice", "apiGroup": RBAC})
    alice = replace(cluster, user=ALICE)
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for verb, allowed in (("get", True), ("delete", False)):
        attributes = {"verb": verb, "resource": "configmaps", "namespace": "default"}
        assert alice.ok("POST", path, {"spec": {"resourceAttributes": attributes}})["status"]["allowed"] is allowed


def test_a_service_accounts_token_is_known_by_review(cluster: Cluster) -> None:
    cluster.store.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}})
    issued = cluster.ok("POST", "/api/v1/namespaces/default/serviceaccounts/s/token", {"spec": {}})
    review = {"spec": {"token": issued["status"]["token"]}}
    status = cluster.ok("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
    assert status["user"]["username"] == "system:serviceaccount:default:s"


def test_scale_reads_and_writes_the_replicas_of_a_custom_kind(cluster: Cluster) -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        },
    }
    scaled = definition(schema, "scalers", "Scaler")
    scaled["spec"]["versions"][0]["subresources"]["scale"] = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
    }
    cluster.store.create(scaled)
    path = "/apis/example.com/v1/namespaces/default/scalers"
    body = {"apiVersion": "example.com/v1", "kind": "Scaler", "metadata": {"name": "s"}, "spec": {"replicas": 2}}
    cluster.ok("POST", path, body)
    assert cluster.ok("GET", f"{path}/s/scale")["spec"] == {"replicas": 2}
    cluster.ok("PATCH", f"{path}/s/scale", {"spec": {"replicas": 5}}, MERGE)
    assert cluster.ok("GET", f"{path}/s")["spec"]["replicas"] == 5


def test_a_policy_refuses_with_its_own_message(cluster: Cluster) -> None:
    rules = [{"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["widgets"]}]
    group = "admissionregistration.k8s.io/v1"
    cluster.store.create(
        {
            "apiVersion": group,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "small"},
            "spec": {
                "matchConstraints": {"resourceRules": rules},
                "validations": [{"expression": "object.spec.size < 5", "message": "small ones only"}],
            },
        }
    )
    cluster.store.create(
        {
            "apiVersion": group,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "small"},
            "spec": {"policyName": "small", "validationActions": ["Deny"]},
        }
    )
    cluster.ok("POST", WIDGETS, widget("a", size=4))
    refusal = cluster.refused(422, "POST", WIDGETS, widget("b", size=6))
    assert refusal["message"].endswith("denied request: small ones only")
