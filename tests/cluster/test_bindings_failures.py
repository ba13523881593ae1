"""Where the Go operator was seen to fail, each as a test that passes here; and everything else that can go wrong.

The rules are those of docs/spec/bindings/boundendpoint.md.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

import pytest

from seamark.families.bindings.model.ownership import FINALIZER
from seamark.families.bindings.model.targets import parse
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.bindings_world import Bindings
from tests.cluster.operator_under_test import WRITES
from tests.cluster.requests import request


def test_failure_1_endpoints_that_cant_be_reached_delay_nobody(world: Bindings) -> None:
    """Rule 13: twenty that hang, and one that is well; it is ready long before the first of them has an answer."""
    world.network.hangs.update(range(7200, 7220))
    for port in range(7200, 7220):
        world.agent(f"tcp://dead.{world.users}:{port}")
    good = f"tcp://good.{world.users}:7300"
    world.agent(good)
    with world.operating(probe_limit=30.0):
        began = time.monotonic()
        world.until_ready(good)
        assert time.monotonic() - began < 25
        world.until(lambda: len(world.all_bound()) == 21, "all are projected")
        said = [one for one in world.all_bound() if one["metadata"]["name"] != parse(good).name]
        world.until_condition(said[0]["metadata"]["name"], "ServicesCreated", "True")
        assert world.condition(said[0]["metadata"]["name"], "Ready")["status"] == "Unknown"


def test_failure_2_a_users_own_service_is_never_touched_and_ours_is_made_when_it_goes(world: Bindings) -> None:
    """Rule 6."""
    path = f"/api/v1/namespaces/{world.users}/services"
    mine = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "mine"}}}
    before = request(world.plane, "POST", path, mine).body
    url = f"http://web.{world.users}"
    with world.operating():
        world.agent(url)
        said = world.until_condition(parse(url).name, "ServicesCreated", "False", "TargetServiceConflict")
        assert said["message"] == f"Service {world.users}/web exists and is not managed by Seamark"
        assert world.get(f"{path}/web")["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        world.delete(f"{path}/web")
        world.until_ready(url)
        assert world.target(url)["spec"]["type"] == "ExternalName"


def test_failure_2_deleting_the_endpoint_leaves_the_users_own_service(world: Bindings) -> None:
    path = f"/api/v1/namespaces/{world.users}/services"
    request(world.plane, "POST", path, {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    url = f"http://web.{world.users}"
    with world.operating():
        ident = world.agent(url)
        world.until_condition(parse(url).name, "ServicesCreated", "False", "TargetServiceConflict")
        world.leaves(ident)
        world.until_gone(world.path(parse(url).name), "the object goes")
        assert world.get(f"{path}/web")["spec"]["ports"][0]["port"] == 80


def test_failure_3_two_ports_of_one_service_share_a_target_and_leave_nothing(world: Bindings) -> None:
    """Rules 2, 3 and 5."""
    one, two = f"http://shop.{world.users}:80", f"tcp://shop.{world.users}:5432"
    with world.operating():
        first = world.agent(one)
        world.until_ready(one)
        second = world.agent(two)
        world.until_ready(two)
        wanted = [("http-80", 80), ("tcp-5432", 5432)]
        for service in (world.upstream(one), world.upstream(two), world.target(one)):
            assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == wanted
        listens = {port["port"]: port["targetPort"] for port in world.upstream(two)["spec"]["ports"]}
        assert listens == {80: world.bound(one)["spec"]["port"], 5432: world.bound(two)["spec"]["port"]}
        oldest = min(world.all_bound(), key=lambda be: (be["metadata"]["creationTimestamp"], be["metadata"]["name"]))
        assert world.target(one)["spec"]["externalName"].startswith(oldest["metadata"]["name"] + ".")
        world.leaves(first)
        world.until_gone(world.path(parse(one).name), "the first goes")
        world.until(
            lambda: world.target(two)["spec"]["externalName"].startswith(parse(two).name), "the other takes over"
        )
        assert [port["name"] for port in world.target(two)["spec"]["ports"]] == ["tcp-5432"]
        world.leaves(second)
        world.until_gone(world.path(parse(two).name), "the second goes")
        assert world.target(two) == {}
        left = world.get(f"/api/v1/namespaces/{world.home}/services")["items"]
        assert left == []


def test_failure_3_one_port_under_two_schemes_is_a_conflict_told_on_the_younger(world: Bindings) -> None:
    """Rule 4."""
    older, younger = f"http://both.{world.users}:8080", f"tcp://both.{world.users}:8080"
    with world.operating():
        ident = world.agent(older)
        world.until_ready(older)
        world.another_second()
        world.agent(younger)
        said = world.until_condition(parse(younger).name, "ServicesCreated", "False", "TargetServiceConflict")
        assert said["message"] == f"port 8080 of this target belongs to BoundEndpoint {parse(older).name}"
        assert world.condition(parse(older).name, "Ready")["status"] == "True"
        world.leaves(ident)
        world.until_ready(younger)


def test_failure_4_the_finalizer_is_ours_alone_and_a_foreign_one_stays(world: Bindings) -> None:
    url = f"http://final.{world.users}"
    with world.operating():
        world.agent(url)
        bound = world.until_ready(url)
        assert bound["metadata"]["finalizers"] == [FINALIZER]
        world.patch(world.path(parse(url).name), {"metadata": {"finalizers": [FINALIZER, "example.com/theirs"]}})
        world.delete(world.path(parse(url).name))
        world.until(lambda: world.bound(url)["metadata"]["finalizers"] == ["example.com/theirs"], "ours is gone")
        assert world.target(url) == {}
        world.patch(world.path(parse(url).name), {"metadata": {"finalizers": []}})
        world.until_ready(url)  # the edge still binds it


def test_failure_5_a_second_installation_touches_nothing_of_the_first(
    world: Bindings, control_plane: ControlPlane
) -> None:
    """Rules 19 and 21."""
    other = f"other-{secrets.token_hex(4)}"
    assert request(control_plane, "POST", "/api/v1/namespaces", {"metadata": {"name": other}}).code == 201
    one = f"http://first.{world.users}"
    second = Bindings(control_plane, replace(world.options, namespace=other), world.users)
    second.install()
    with world.operating(), second.operating():
        world.agent(one)
        world.until_ready(one)
        before = world.bound(one)["metadata"]["resourceVersion"]
        two = f"http://second.{world.users}"
        second.agent(two)
        second.until_ready(two)
        taken = f"http://first.{world.users}:8080"  # a Service that is the first one's
        second.agent(taken)
        second.until_condition(parse(taken).name, "ServicesCreated", "False", "TargetServiceConflict")
        assert world.bound(one)["metadata"]["resourceVersion"] == before
        assert len(world.all_bound()) == 1
        assert world.target(one)["spec"]["externalName"].endswith(f"{world.home}.svc.cluster.local")
        request(
            control_plane,
            "DELETE",
            f"/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces/{other}/kubernetesoperators/seamark",
        )
        second.until_gone(second.path(parse(two).name), "the second is uninstalled")
        world.until_ready(one)
    request(control_plane, "DELETE", f"/api/v1/namespaces/{other}")


def test_failure_5_one_bad_endpoint_touches_only_itself_and_is_told_by_an_event(world: Bindings) -> None:
    """Rules 16 and 18."""
    good = f"http://good.{world.users}"
    with world.operating():
        for url in ("tcp://no-port.here", "http://one.two.three", "ftp://a.b", "http://nodot", "http://UPPER_.case"):
            world.agent(url)
        world.agent(good)
        world.until_ready(good)
        assert len(world.all_bound()) == 1
        for words in ("'tcp://no-port.here' needs a port", "'http://one.two.three' is no service.namespace", "ftp"):
            world.until(lambda words=words: world.told("EndpointNotBound", words), f"an event says {words}")  # type: ignore[misc]


def test_failure_5_one_port_clash_touches_only_itself(world: Bindings) -> None:
    """Rule 17. A user has taken the port of a projection by hand: the younger one moves."""
    url = f"http://clash.{world.users}"
    assert world.bind("squatter", f"tcp://squat.{world.users}:99", 10000).code == 201
    with world.operating():
        world.until_condition("squatter", "Ready", "True")
        world.agent(url)
        bound = world.until_ready(url)
        assert bound["spec"]["port"] != 10000
        world.another_second()
        assert world.bind("late", f"tcp://late.{world.users}:98", bound["spec"]["port"]).code == 201
        said = world.until_condition("late", "ServicesCreated", "False", "PortConflict")
        assert said["message"].endswith(f"belongs to BoundEndpoint {parse(url).name}")
        world.until_ready(url)


def test_failure_5_a_refused_create_touches_only_itself_and_is_told_by_an_event(world: Bindings) -> None:
    """An admission policy that refuses one BoundEndpoint, in its own words."""
    bad, good = f"http://refused.{world.users}", f"http://good.{world.users}"
    refuse(world, "object.spec.target.service != 'refused'", "not this one, please")
    with world.operating():
        world.agent(bad)
        world.agent(good)
        world.until_ready(good)
        world.until(lambda: world.told("EndpointNotBound", "not this one, please"), "an event with the words")
        assert world.bound(bad) == {}


def test_failure_10_an_object_costs_five_requests_and_its_end_four(world: Bindings) -> None:
    """Rule 22: create, two Services, and one status of each writer; then four deletions and patches."""
    with world.operating() as operator:
        url = f"http://cheap.{world.users}"
        world.until_installed()
        world.until(lambda: operator.operator.quiet, "nothing is to be done")
        mark = world.plane.audit.mark()
        ident = world.agent(url)
        world.until_ready(url)
        world.until(lambda: operator.operator.quiet, "nothing is left to do")
        name = parse(url).name
        assert asked_for(world, mark) == sorted(
            [
                "create boundendpoints",
                f"patch boundendpoints/status {name}",
                f"patch boundendpoints/status {name}",
                "create services",
                "create services",
            ]
        )
        mark = world.plane.audit.mark()
        world.leaves(ident)
        world.until_gone(world.path(name), "it goes")
        world.until(lambda: operator.operator.quiet, "nothing is left to do")
        assert asked_for(world, mark) == sorted(
            [
                f"delete boundendpoints {name}",
                f"delete services {name}",
                "delete services cheap",
                f"patch boundendpoints {name}",
            ]
        )


def test_at_rest_nothing_is_written(world: Bindings) -> None:
    url = f"http://quiet.{world.users}"
    with world.operating() as operator:
        world.agent(url)
        world.until_ready(url)
        world.until_installed()
        world.until(lambda: operator.operator.quiet, "nothing is left to do")
        mark, probes = world.plane.audit.mark(), len(world.network.dialled)
        world.until(lambda: len(world.network.dialled) >= probes + 4, "it was verified four times more")
        assert asked_for(world, mark) == []


def test_services_that_were_deleted_or_edited_by_hand_are_put_back(world: Bindings) -> None:
    """Rule 7."""
    url = f"http://heal.{world.users}"
    with world.operating():
        world.agent(url)
        world.until_ready(url)
        upstream, target = world.upstream(url), world.target(url)
        for service in (upstream, target):
            world.delete_service(service)
        world.until(
            lambda: world.target(url).get("metadata", {}).get("uid", "") not in ("", target["metadata"]["uid"]),
            "a new target",
        )
        world.until(
            lambda: world.upstream(url).get("metadata", {}).get("uid", "") not in ("", upstream["metadata"]["uid"]),
            "a new upstream",
        )
        path = f"/api/v1/namespaces/{world.users}/services/heal"
        world.patch(path, {"spec": {"externalName": "evil.example.com"}})
        world.until(lambda: world.target(url)["spec"]["externalName"] == target["spec"]["externalName"], "healed")
        world.patch(path, {"spec": {"type": "ClusterIP"}})
        world.until(lambda: world.target(url)["spec"]["type"] == "ExternalName", "healed")
        mine = f"/api/v1/namespaces/{world.home}/services/{parse(url).name}"
        world.patch(mine, {"spec": {"selector": {"app": "evil"}}})
        world.until(lambda: "app" not in world.upstream(url)["spec"]["selector"], "healed")
        world.until_ready(url)


def test_probes_go_to_the_address_of_our_own_service_and_to_no_other(world: Bindings) -> None:
    """A foreign Service in the place of ours is never dialled."""
    url = f"tcp://safe.{world.users}:7400"
    path = f"/api/v1/namespaces/{world.home}/services"
    stranger = {"metadata": {"name": parse(url).name}, "spec": {"ports": [{"port": 7400}]}}
    made = request(world.plane, "POST", path, stranger).body
    with world.operating():
        world.agent(url)
        world.until_condition(parse(url).name, "ServicesCreated", "False", "UpstreamServiceCreationFailed")
        assert world.network.dialled == []
        world.delete(f"{path}/{parse(url).name}")
        world.until_ready(url)
        address = world.upstream(url)["spec"]["clusterIP"]
        assert address != made["spec"]["clusterIP"]
        assert set(world.network.dialled) == {(address, 7400)}


def test_a_target_that_moves_leaves_nothing_where_it_was(world: Bindings) -> None:
    """Rule 8: found by label, also when the spec has changed while no operator ran."""
    with world.operating():
        assert world.bind("mover", f"http://old.{world.users}", 10011).code == 201
        world.until_condition("mover", "Ready", "True")
    target = {"service": "new", "namespace": world.users, "port": 81}
    world.patch(world.path("mover"), {"spec": {"endpointURL": f"http://new.{world.users}:81", "target": target}})
    with world.operating():
        world.until_condition("mover", "Ready", "True")
        world.until(lambda: world.service(world.users, "old") == {}, "the old target is gone")
        assert world.service(world.users, "new")["spec"]["ports"][0]["port"] == 81
        (port,) = world.service(world.home, "mover")["spec"]["ports"]
        assert (port["port"], port["targetPort"]) == (81, 10011)


def test_what_a_crash_left_in_a_users_namespace_is_found_and_removed(world: Bindings) -> None:
    """The object was deleted by force while no operator ran: its target is ours by label, and has no owner."""
    url = f"http://orphan.{world.users}"
    with world.operating():
        ident = world.agent(url)
        world.until_ready(url)
    world.leaves(ident)
    world.patch(world.path(parse(url).name), {"metadata": {"finalizers": []}})
    world.delete(world.path(parse(url).name))
    assert world.target(url) != {}
    with world.operating():
        world.until(lambda: world.target(url) == {}, "the orphan is gone")


def test_a_namespace_that_is_not_allowed_is_told(world: Bindings) -> None:
    url = f"http://web.{world.users}"
    with world.operating(allowed_namespaces=("elsewhere",)):
        world.agent(url)
        said = world.until_condition(parse(url).name, "ServicesCreated", "False", "NamespaceNotAllowed")
        assert said["message"] == f"targets in namespace {world.users} are not allowed in this installation"
        assert world.target(url) == {}
        assert world.upstream(url) == {}


def test_a_namespace_that_is_being_deleted_is_told_and_holds_up_nobody(world: Bindings) -> None:
    space = f"going-{secrets.token_hex(4)}"
    held = {"metadata": {"name": space, "finalizers": ["example.com/wait"]}}
    assert request(world.plane, "POST", "/api/v1/namespaces", held).code == 201
    blocker = {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}}
    assert request(world.plane, "POST", f"/api/v1/namespaces/{space}/configmaps", blocker).code == 201
    url, good = f"http://web.{space}", f"http://web.{world.users}"
    with world.operating():
        ident = world.agent(url)
        world.agent(good)
        world.until_ready(url)
        world.delete(f"/api/v1/namespaces/{space}")
        said = world.until_condition(parse(url).name, "ServicesCreated", "False", "TargetServiceCreationFailed")
        assert "because it is being terminated" in said["message"]
        world.until_ready(good)
        world.leaves(ident)
        world.until_gone(world.path(parse(url).name), "it goes all the same")
    world.patch(f"/api/v1/namespaces/{space}/configmaps/held", {"metadata": {"finalizers": []}})


@pytest.mark.parametrize(
    ("url", "port", "words"),
    [
        ("http://no-namespace", 10000, "spec.endpointURL"),
        ("http://a.b.c", 10000, "spec.endpointURL"),
        ("ftp://a.b", 10000, "spec.endpointURL"),
        ("tcp://a.b:70000", 10000, "spec.endpointURL"),
        ("tcp://a.b:80", 70000, "spec.port"),
        ("tcp://a.b:80", 0, "spec.port"),
    ],
)
def test_bad_input_is_refused_by_the_schema(world: Bindings, url: str, port: int, words: str) -> None:
    spec = {"endpointURL": url, "scheme": "tcp", "port": port, "target": {"service": "a", "namespace": "b", "port": 80}}
    body = {"apiVersion": "bindings.k8s.ngrok.com/v1alpha1", "kind": "BoundEndpoint", "metadata": {"name": "bad"}}
    answer = request(world.plane, "POST", world.path(), {**body, "spec": spec})
    assert (answer.code, words in answer.body["message"]) == (422, True), answer.body


def asked_for(world: Bindings, mark: int) -> list[str]:
    """What the operator wrote since then, in short."""
    found = []
    for entry in world.plane.audit.entries(mark):
        if entry.user == "operator" and entry.verb in WRITES and entry.namespace in (world.home, world.users):
            what = "/".join(filter(None, (entry.resource, entry.subresource)))
            found.append(" ".join(filter(None, (entry.verb, what, entry.name if entry.verb != "create" else ""))))
    return sorted(found)


def refuse(world: Bindings, expression: str, message: str) -> None:
    name = f"refuse-{world.home}"
    root = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": ["bindings.k8s.ngrok.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": message}],
    }
    made = request(
        world.plane, "POST", f"{root}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec}
    )
    assert made.code == 201, made.body
    here = {"matchLabels": {"kubernetes.io/metadata.name": world.home}}
    bound = {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": here}}
    made = request(
        world.plane, "POST", f"{root}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": bound}
    )
    assert made.code == 201, made.body

    def in_force() -> bool:
        tried = world.bind("tried", "http://refused.nowhere", 10099)
        if tried.code == 201:
            world.delete(world.path("tried"))
        return message in tried.body.get("message", "")

    world.until(in_force, "the policy is in force")
