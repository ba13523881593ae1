"""The checklist of the seed, item by item, on a real API server, with what kubectl prints.

The rules are those of docs/spec/bindings/boundendpoint.md.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from seamark.families.bindings.model.targets import parse
from tests.cluster.bindings_world import Bindings
from tests.cluster.requests import request


def test_bug_1_two_agents_on_one_url_both_stay_bound_and_nothing_is_reset(world: Bindings) -> None:
    """Rules 12 and 20. The second agent changes what is the poller's, and not one condition."""
    url = f"http://my-service.{world.users}"
    with world.operating():
        first = world.agent(url)
        before = world.until_ready(url)
        second = world.agent(url)
        world.until(lambda: len(world.bound(url)["status"]["endpoints"]) == 2, "both endpoints are there")
        after = world.bound(url)
        assert [one["id"] for one in after["status"]["endpoints"]] == sorted([first, second])
        assert after["status"]["endpointsSummary"] == "2 endpoints"
        assert after["status"]["conditions"] == before["status"]["conditions"]
        assert after["metadata"]["generation"] == before["metadata"]["generation"]
        assert [set(one) for one in after["status"]["endpoints"]] == [{"id", "uri"}] * 2
        world.leaves(first)
        world.until(lambda: world.bound(url)["status"]["endpointsSummary"] == "1 endpoint", "one has left")
        assert world.bound(url)["status"]["conditions"] == before["status"]["conditions"]
        world.leaves(second)
        world.until_gone(world.path(parse(url).name), "with the last endpoint the object goes")


def test_bug_2_a_deleted_boundendpoint_leaves_no_service_in_the_users_namespace(world: Bindings) -> None:
    """Rules 5 and 8."""
    url = f"tcp://db.{world.users}:5432"
    with world.operating():
        assert world.bind("by-hand", url, 10007).code == 201
        world.until_condition("by-hand", "Ready", "True")
        target = f"/api/v1/namespaces/{world.users}/services/db"
        assert world.get(target)["spec"]["type"] == "ExternalName"
        world.plane.kubectl("delete", "boundendpoint", "-n", world.home, "by-hand", "--timeout=30s")
        assert request(world.plane, "GET", target).code == 404
        assert request(world.plane, "GET", f"/api/v1/namespaces/{world.home}/services/by-hand").code == 404


def test_a_single_endpoint_is_summed_up_as_1_endpoint(world: Bindings) -> None:
    url = f"http://single.{world.users}"
    with world.operating():
        world.agent(url)
        assert world.until_ready(url)["status"]["endpointsSummary"] == "1 endpoint"


def test_several_endpoints_are_summed_up_as_n_endpoints(world: Bindings) -> None:
    url = f"http://several.{world.users}"
    for _ in range(3):
        world.agent(url)
    with world.operating():
        assert world.until_ready(url)["status"]["endpointsSummary"] == "3 endpoints"


def test_service_creation_failures_are_told_in_the_words_of_the_api_server(world: Bindings) -> None:
    """Rule 9: a quota in the users' namespace, and a name that is no Service's in our own."""
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"services": "0"}}}
    path = f"/api/v1/namespaces/{world.users}/resourcequotas"
    assert request(world.plane, "POST", path, quota).code == 201
    world.until(lambda: "hard" in world.get(f"{path}/none").get("status", {}), "the quota is in force")
    url = f"http://web.{world.users}"
    with world.operating():
        world.agent(url)
        said = world.until_condition(parse(url).name, "ServicesCreated", "False", "TargetServiceCreationFailed")
        assert 'services "web" is forbidden: exceeded quota: none' in said["message"]
        assert "may not create" not in said["message"]  # no right is missing
        ready = world.condition(parse(url).name, "Ready")
        assert (ready["status"], ready["reason"], ready["message"]) == ("False", said["reason"], said["message"])
        too_long = "x" * 70
        assert world.bind(too_long, f"http://other.{world.users}", 10009).code == 201
        said = world.until_condition(too_long, "ServicesCreated", "False", "UpstreamServiceCreationFailed")
        assert "must be no more than 63 " in said["message"]


def test_connectivity_failures_are_told_and_recover_without_anyone_touching_the_object(world: Bindings) -> None:
    """Rules 10 and 13."""
    url = f"tcp://slow.{world.users}:7000"
    name = parse(url).name
    world.network.refuses.add(7000)
    with world.operating():
        world.agent(url)
        failed = world.until_condition(name, "ConnectivityVerified", "False", "ConnectivityFailed")
        assert failed["message"].endswith(":7000: connection refused")
        assert world.condition(name, "ServicesCreated")["status"] == "True"
        assert world.condition(name, "Ready")["reason"] == "ConnectivityFailed"
        version = world.bound(url)["metadata"]["generation"]
        world.network.refuses.clear()
        world.until_ready(url)
        assert world.bound(url)["metadata"]["generation"] == version
        verified = world.condition(name, "ConnectivityVerified")
        assert verified["message"] == "Successfully connected to upstream service"
        world.network.hangs.add(7000)
        failed = world.until_condition(name, "ConnectivityVerified", "False", "ConnectivityFailed")
        assert "no answer within 3 s (last connected at 20" in failed["message"]


def test_kubectl_shows_summary_services_and_ready(world: Bindings) -> None:
    good, bad = f"http://good.{world.users}", "tcp://bad.nowhere-to-be-found:9"
    with world.operating():
        world.agent(good)
        world.agent(good)
        world.agent(bad)
        world.until_ready(good)
        world.until_condition(parse(bad).name, "Ready", "False")
        head, *rows = world.kubectl_rows()
        assert head == ["NAME", "ENDPOINTS", "SERVICES", "READY", "AGE"]
        shown = {row[0]: row[1:4] for row in rows}
        assert shown == {
            parse(good).name: ["2 endpoints", "True", "True"],
            parse(bad).name: ["1 endpoint", "False", "False"],
        }
        head, *rows = world.kubectl_rows("-o", "wide")
        assert head == ["NAME", "URL", "PORT", "ENDPOINTS", "SERVICES", "READY", "REASON", "MESSAGE", "AGE"]
        row = next(row for row in rows if row[0] == parse(good).name)
        assert row[1] == f"http://good.{world.users}:80"
        assert row[6:8] == ["BoundEndpointReady", "BoundEndpoint is ready"]
        waited = world.plane.kubectl(
            "wait", "--for=condition=Ready", "-n", world.home, f"boundendpoint/{parse(good).name}", "--timeout=10s"
        )
        assert "condition met" in waited


def test_condition_transitions_have_proper_timestamps(world: Bindings) -> None:
    """A time moves with a flip of its own condition, and with nothing else."""
    url = f"tcp://times.{world.users}:7100"
    name = parse(url).name

    def times() -> dict[str, Any]:
        found = world.bound(url)["status"]["conditions"]
        return {one["type"]: datetime.fromisoformat(one["lastTransitionTime"]) for one in found}

    with world.operating():
        world.agent(url)
        made = datetime.fromisoformat(world.until_ready(url)["metadata"]["creationTimestamp"])
        first = times()
        assert all(0 <= (at - made).total_seconds() < 30 for at in first.values())
        world.agent(url)
        world.until(lambda: len(world.bound(url)["status"]["endpoints"]) == 2, "a second endpoint")
        assert times() == first
        world.until(lambda: (datetime.now(made.tzinfo) - first["Ready"]).total_seconds() > 1.5, "time passes")
        world.network.refuses.add(7100)
        world.until_condition(name, "Ready", "False")
        second = times()
        assert second["ServicesCreated"] == first["ServicesCreated"]
        assert second["ConnectivityVerified"] > first["ConnectivityVerified"]
        assert second["Ready"] == second["ConnectivityVerified"]


def test_service_refs_name_the_services_that_were_made(world: Bindings) -> None:
    url = f"https://refs.{world.users}"
    with world.operating():
        world.agent(url)
        bound = world.until_ready(url)
        status, name = bound["status"], bound["metadata"]["name"]
        assert status["hashedName"] == name == parse(url).name
        assert status["targetServiceRef"] == {"name": "refs", "namespace": world.users}
        assert status["upstreamServiceRef"] == {"name": name}
        upstream, target = world.upstream(url), world.target(url)
        (port,) = upstream["spec"]["ports"]
        assert upstream["spec"]["type"] == "ClusterIP"
        assert (port["name"], port["port"], port["targetPort"]) == ("https-443", 443, bound["spec"]["port"])
        assert upstream["spec"]["selector"] == {"app.kubernetes.io/component": "bindings-forwarder"}
        assert target["spec"]["externalName"] == f"{name}.{world.home}.svc.cluster.local"
        for service in (upstream, target):
            labels = service["metadata"]["labels"]
            assert labels["ngrok.com/endpoint-binding-name"] == name
            assert labels["ngrok.com/endpoint-binding-namespace"] == world.home
            assert service["spec"]["sessionAffinity"] == "ClientIP"


def test_a_missing_namespace_is_told_and_retried_as_soon_as_it_is_there(world: Bindings) -> None:
    space = f"late-{secrets.token_hex(4)}"
    url = f"http://web.{space}"
    with world.operating():
        world.agent(url)
        said = world.until_condition(parse(url).name, "ServicesCreated", "False", "TargetServiceCreationFailed")
        assert said["message"] == f'namespaces "{space}" not found'
        assert request(world.plane, "POST", "/api/v1/namespaces", {"metadata": {"name": space}}).code == 201
        world.until_condition(parse(url).name, "ServicesCreated", "True", seconds=10)
        world.until_ready(url)
        world.delete(f"/api/v1/namespaces/{space}")


def test_a_missing_permission_is_told_with_the_servers_words_and_a_hint(world: Bindings) -> None:
    """The operator's account may do everything but make Services in the users' namespace."""
    grant_all_but_services(world, "alice")
    url = f"http://web.{world.users}"
    with world.operating("alice"):
        world.agent(url)
        said = world.until_condition(parse(url).name, "ServicesCreated", "False", "TargetServiceCreationFailed")
        who = 'User "alice" cannot create resource "services" in API group ""'
        refused = f'services is forbidden: {who} in the namespace "{world.users}"'
        hint = f"the operator's account may not create Services in namespace {world.users}: a Role there must allow it"
        assert said["message"] == f"{refused} ({hint})"
        bind_role(world, world.users, "alice")
        world.until_ready(url)


def grant_all_but_services(world: Bindings, user: str) -> None:
    rules = [
        {"apiGroups": ["bindings.k8s.ngrok.com", "ngrok.k8s.ngrok.com"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["services", "namespaces"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "patch"]},
    ]
    name = f"bindings-{world.home}"
    role = {"metadata": {"name": name}, "rules": rules}
    root = "/apis/rbac.authorization.k8s.io/v1"
    assert request(world.plane, "POST", f"{root}/clusterroles", role).code == 201
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    assert request(world.plane, "POST", f"{root}/clusterrolebindings", binding).code == 201
    bind_role(world, world.home, user)


def bind_role(world: Bindings, namespace: str, user: str) -> None:
    root = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["services"], "verbs": ["*"]}]
    assert request(world.plane, "POST", f"{root}/roles", {"metadata": {"name": "services"}, "rules": rules}).code == 201
    binding = {
        "metadata": {"name": "services"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "services"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    assert request(world.plane, "POST", f"{root}/rolebindings", binding).code == 201
