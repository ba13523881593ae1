"""The gateway family on a real API server: nothing stale, no foreign entry touched (docs/spec/gateway)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from seamark_cluster.real.plane import ControlPlane
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.dataplane.model import Origin
from seamark_runtime.api.gateway import HTTPRoute
from tests.cluster.gateway_operator import OURS, Scene, foreign, operating, prepare
from tests.cluster.operator_under_test import writes
from tests.cluster.recorder import Recorder
from tests.cluster.requests import request
from tests.status_rules import check

GOOD = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs"


@pytest.fixture
def scene(control_plane: ControlPlane, namespace: str) -> Iterator[Scene]:
    """Every state that a route had must keep the rules of status, as far as it is ours."""
    prepare(control_plane)
    recorder = Recorder(control_plane, HTTPRoute.RESOURCE, namespace)
    recorder.start()
    yield Scene(control_plane, namespace)
    recorder.stop()
    broken = [
        f"{'/'.join(name)}: {violation}"
        for name, history in recorder.histories.items()
        for violation in check([only_ours(state) for state in history])
        if violation.rule != FIRST_WORD
    ]
    assert not broken, "\n".join(broken)


FIRST_WORD = 17  # the CRDs of the Gateway API make no first statement for routes


def only_ours(state: dict[str, Any] | None) -> dict[str, Any] | None:
    if state is None or not (state.get("status") or {}).get("parents"):
        return state
    parents = [one for one in state["status"]["parents"] if one["controllerName"] == OURS]
    return {**state, "status": {**state["status"], "parents": parents}}


def test_seed_a_valid_reference_is_said_and_then_cleared_when_it_becomes_invalid(scene: Scene) -> None:
    """Rules 1 and 2; another controller's entry stays as it is, in place."""
    with operating(scene.control):
        scene.service()
        scene.gateway("valid-gateway")
        scene.route("valid-gateway")
        scene.until(lambda: scene.verdicts() == {"valid-gateway": GOOD}, "the route is accepted")
        scene.speak(foreign())
        theirs = scene.entries()[0]
        scene.edit("httproutes", "route", {"spec": {"parentRefs": [{"name": "missing-gateway"}]}})
        scene.until(lambda: scene.verdicts() == {}, "the orphan is cleared")
        assert scene.entries() == [theirs]
        scene.until(lambda: any("missing-gateway" in one for one in scene.events("route")), "a warning was reported")


def test_seed_of_a_valid_and_an_invalid_reference_only_the_valid_is_shown(scene: Scene) -> None:
    """Rule 3."""
    with operating(scene.control):
        scene.service()
        scene.gateway("example-gateway")
        scene.route("example-gateway", "missing-gateway")
        scene.until(lambda: scene.verdicts() == {"example-gateway": GOOD}, "the valid one is reported")
        scene.speak(foreign())
        scene.gateway("missing-gateway")
        scene.until(lambda: set(scene.verdicts()) == {"example-gateway", "missing-gateway"}, "now both are there")
        assert scene.entries()[0] == foreign(), "others' entries stay in place and in order"
        scene.drop("gateways", "example-gateway")
        scene.until(lambda: scene.verdicts() == {"missing-gateway": GOOD}, "the one that went is cleared")
        assert scene.entries()[0] == foreign()


def test_seed_a_policy_of_a_missing_target_ends_with_no_ancestor(scene: Scene) -> None:
    with operating(scene.control):
        scene.service()
        scene.gateway()
        scene.route("gateway")
        scene.policy({"kind": "HTTPRoute", "name": "route"}, timeouts={"request": "5s"})
        said = "Accepted=True/Valid Attached=True/Attached"
        scene.until(lambda: scene.verdicts("trafficpolicies", "policy") == {"gateway": said}, "the policy holds")
        scene.drop("httproutes", "route")
        scene.until(lambda: scene.entries("trafficpolicies", "policy") == [], "the orphan is cleared")
        scene.until(lambda: any("HTTPRoute" in one for one in scene.events("policy")), "a warning was reported")


def test_a_field_that_is_not_served_is_refused_by_name(scene: Scene) -> None:
    with operating(scene.control):
        scene.gateway()
        scene.policy({"kind": "Gateway", "name": "gateway"}, extAuth={"extensionRef": {"name": "x"}})
        scene.until(
            lambda: "Accepted=False/Invalid" in str(scene.verdicts("trafficpolicies", "policy")),
            "it is refused",
        )
        entry = scene.entries("trafficpolicies", "policy")[0]
        assert "extAuth" in entry["conditions"][0]["message"]


def test_another_controllers_gateway_and_its_routes_are_never_written(scene: Scene) -> None:
    """Rule 4."""
    with operating(scene.control):
        scene.service()
        scene.gateway("theirs", "theirs")
        scene.gateway("ours")
        scene.route("theirs", name="not-ours")
        mark = scene.control.audit.mark()
        scene.route("ours")
        scene.until(lambda: scene.verdicts() == {"ours": GOOD}, "ours is said")
        written = writes(scene.control.audit.entries(mark), scene.namespace)
        assert "status" not in (scene.get("httproutes", "not-ours") or {}) or not scene.entries(name="not-ours")
        assert not [one for one in written if "not-ours" in one or "gateways/status/theirs" in one]


def test_a_gateway_whose_class_moves_away_keeps_no_word_of_ours(scene: Scene) -> None:
    with operating(scene.control):
        scene.service()
        scene.gateway()
        scene.route("gateway")
        scene.until(lambda: scene.conditions("gateways", "gateway").get("Programmed") == "True/Programmed", "served")
        scene.edit("gateways", "gateway", {"spec": {"gatewayClassName": "theirs"}})
        scene.until(lambda: scene.verdicts() == {}, "its route is cleared")
        scene.until(
            lambda: not (scene.get("gateways", "gateway").get("status") or {}).get("addresses"), "its address is gone"
        )
        scene.until(lambda: not scene.conditions("gateways", "gateway"), "its conditions are gone")


def test_a_gateway_deleted_while_the_operator_is_down_leaves_nothing_stale(scene: Scene) -> None:
    with operating(scene.control):
        scene.service()
        scene.gateway()
        scene.route("gateway")
        scene.until(lambda: scene.verdicts() == {"gateway": GOOD}, "the route is accepted")
    scene.drop("gateways", "gateway")
    with operating(scene.control):
        scene.until(lambda: scene.verdicts() == {}, "the route is cleared")


def test_a_restart_unsays_nothing_and_writes_nothing(scene: Scene) -> None:
    with operating(scene.control) as first:
        scene.service()
        scene.gateway()
        for number in range(10):
            scene.route("gateway", name=f"route-{number}")
        scene.until(
            lambda: all(scene.verdicts(name=f"route-{number}") for number in range(10)),
            "all routes are accepted",
        )
        scene.until(lambda: listener(scene)["attachedRoutes"] == 10, "all are counted")
        scene.until(lambda: scene.conditions("gateways", "gateway").get("Programmed") == "True/Programmed", "served")
        scene.until(lambda: first.operator.quiet, "all is quiet")
    mark = scene.control.audit.mark()
    with operating(scene.control) as again:
        scene.until(lambda: again.operator.quiet, "all is quiet again")
        scene.gateway("another")  # answered after all that was to be reported before
        scene.until(lambda: scene.conditions("gateways", "another").get("Programmed") == "True/Programmed", "served")
        written = writes(scene.control.audit.entries(mark), scene.namespace)
    assert not [one for one in written if "another" not in one and "events" not in one], written


def listener(scene: Scene, name: str = "gateway") -> dict[str, int]:
    found: list[dict[str, int]] = (scene.get("gateways", name).get("status") or {}).get("listeners") or [{}]
    return {"attachedRoutes": -1, **found[0]}


def test_attached_routes_go_back_to_zero(scene: Scene) -> None:
    with operating(scene.control):
        scene.service()
        scene.gateway()
        scene.route("gateway", name="one")
        scene.route("gateway", name="two")
        scene.until(lambda: listener(scene)["attachedRoutes"] == 2, "both are counted")
        scene.drop("httproutes", "one")
        scene.drop("httproutes", "two")
        scene.until(lambda: listener(scene)["attachedRoutes"] == 0, "none is left")


def test_thirty_three_parents_are_told_and_foreign_entries_stay_whole(scene: Scene) -> None:
    with operating(scene.control):
        scene.service()
        for number in range(32):
            scene.gateway(f"gateway-{number:02}")
        scene.route(*(f"gateway-{number:02}" for number in range(31)))
        scene.until(lambda: len(scene.verdicts()) == 31, "all are said")
        scene.speak(foreign())
        refs = [{"name": f"gateway-{number:02}"} for number in range(32)]
        scene.edit("httproutes", "route", {"spec": {"parentRefs": refs}})
        scene.until(lambda: any("are not shown" in one for one in scene.events("route")), "it is told")
        entries = scene.entries()
        assert len(entries) == 32
        assert entries[0] == foreign()


def test_two_writers_racing_on_one_status_lose_no_word(scene: Scene) -> None:
    with operating(scene.control):
        scene.service()
        scene.gateway()
        scene.route("gateway")
        for number in range(20):
            theirs = foreign(f"theirs-{number}")
            scene.edit("httproutes", "route", {"spec": {"hostnames": [f"h{number}.example.com"]}})
            scene.speak(theirs, instead=True)
        scene.until(lambda: scene.verdicts() == {"gateway": GOOD}, "our entry is about the last generation")
        assert [one for one in scene.entries() if one["controllerName"] != OURS] == [foreign("theirs-19")]


def test_a_route_that_the_data_plane_refuses_is_told_in_its_words(scene: Scene) -> None:
    plane = MemoryDataPlane(listens=True)
    plane.refuses = {Origin("HTTPRoute", scene.namespace, "bad"): "no such flavour"}
    with operating(scene.control, plane):
        scene.service()
        scene.gateway()
        scene.route("gateway", name="good")
        scene.route("gateway", name="bad")
        scene.until(
            lambda: "Accepted=False/UnsupportedValue" in str(scene.verdicts(name="bad")),
            "the cause is reported on its own object",
        )
        assert "no such flavour" in scene.entries(name="bad")[0]["conditions"][0]["message"]
        assert scene.verdicts(name="good") == {"gateway": GOOD}
        scene.until(lambda: scene.conditions("gateways", "gateway").get("Programmed") == "True/Programmed", "served")


def test_a_gateway_that_another_controller_overwrites_is_left_alone_and_no_other(scene: Scene) -> None:
    """Gateway rule 1. What an editor writes into `managedFields` changes nothing."""
    control, name = scene.control, "example.com/shared"
    path = "/apis/gateway.networking.k8s.io/v1/gatewayclasses"
    body = {"kind": "GatewayClass", "apiVersion": "gateway.networking.k8s.io/v1", "metadata": {"name": "shared"}}
    request(control, "DELETE", f"{path}/shared")
    assert request(control, "POST", path, {**body, "spec": {"controllerName": name}}).code == 201
    with operating(control, name=name) as at_work:
        scene.gateway("shared", "shared")
        scene.until(lambda: bool(scene.conditions("gateways", "shared")), "our status is there")
        for second in range(10, 20):
            forge(scene, "shared", second)
        scene.until(lambda: at_work.operator.quiet, "all is quiet")
        assert scene.events("shared") == []

        def fight() -> bool:
            overwrite(scene, "shared")
            return any(f"may use the controllerName {name}, too" in one for one in scene.events("shared"))

        scene.until(fight, "it is told")
        mark = control.audit.mark()
        port = {"name": "web", "port": 81, "protocol": "HTTP"}
        scene.edit("gateways", "shared", {"spec": {"listeners": [port]}})
        scene.gateway("other", "shared", listeners=[{**port, "port": 82}])
        scene.until(lambda: bool(scene.conditions("gateways", "other")), "the other one is reconciled")
        scene.until(lambda: at_work.operator.quiet, "all is quiet")
        written = writes(control.audit.entries(mark), scene.namespace)
        assert not [one for one in written if one.endswith("gateways/status/shared")], written


def forge(scene: Scene, name: str, second: int) -> None:
    """An editor without the right to the status claims another writer. A new time alone would be no change."""
    forged = {
        "manager": "rival",
        "operation": "Update",
        "subresource": "status",
        "apiVersion": "gateway.networking.k8s.io/v1",
        "time": f"2026-01-01T00:00:{second}Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions" if second % 2 else "f:listeners": {}}},
    }
    managers = scene.edit("gateways", name, {"metadata": {"managedFields": [forged]}})["metadata"]["managedFields"]
    assert forged["time"] in [one["time"] for one in managers if one["manager"] == "rival"]


def overwrite(scene: Scene, name: str) -> None:
    """What a controller of the same name does: whatever is not its own statement is replaced."""
    condition = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "mine"}
    ours = [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}]
    if (scene.get("gateways", name).get("status") or {}).get("conditions") != ours:
        scene.edit("gateways", name, {"status": {"conditions": ours}}, "status")
