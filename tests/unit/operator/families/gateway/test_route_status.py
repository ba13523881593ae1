"""A refusal of the data plane that was published before a restart stays until the data plane has answered."""

from __future__ import annotations

import msgspec

from seamark.families.gateway.model.routes import Backend, BackendHealth, RouteParent, RouteParents
from seamark.families.gateway.route.reconcile import judge, previous_refusals
from seamark.families.gateway.route.state import ROUTE_ACCEPTED, ROUTE_RESOLVED, Seen
from seamark_runtime.api.gateway import HTTPRoute, ParentReference
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.apply import Answers

US, GATEWAY = "example.com/us", Key("default", "gateway")
PARENT = ParentReference(name="gateway")
ACCEPTED = ROUTE_ACCEPTED.true("Accepted", "Successfully accepted Route")
RESOLVED = ROUTE_RESOLVED.true("ResolvedRefs", "Successfully resolved all references")
MESSAGE = "as an earlier version has put it"


def published(reason: str = "UnsupportedValue", generation: int = 3, controller: str = US) -> HTTPRoute:
    condition = {
        "type": "Accepted",
        "status": "False",
        "reason": reason,
        "message": MESSAGE,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": generation,
    }
    entry = {"parentRef": {"name": "gateway"}, "controllerName": controller, "conditions": [condition]}
    metadata = {"name": "route", "namespace": "default", "generation": 3}
    return msgspec.convert({"metadata": metadata, "status": {"parents": [entry]}}, HTTPRoute)


def ours(accepted: Condition = ACCEPTED) -> RouteParent:
    return RouteParent(PARENT, GATEWAY, (), (accepted, RESOLVED))


def test_it_is_recognised_by_reason_and_generation_and_not_by_its_message() -> None:
    route = published()
    found = previous_refusals(route, US, (ours(),))
    assert [(parent.parent, condition.message) for parent, condition in found.items()] == [(PARENT, MESSAGE)]
    seen = Seen(route, US, RouteParents((ours(),)), previous={PARENT: found[ours()]})
    [entry] = judge(seen, Answers({}, {})).parents or ()
    assert [(one.type, one.status, one.reason, one.message) for one in entry.conditions] == [
        ("Accepted", "False", "UnsupportedValue", MESSAGE),
        ("ResolvedRefs", "True", "ResolvedRefs", "Successfully resolved all references"),
    ]


def test_other_generations_reasons_and_controllers_do_not_count() -> None:
    for route in (published(generation=2), published("NotAllowedByListeners"), published(controller="example.com/it")):
        assert previous_refusals(route, US, (ours(),)) == {}


def test_a_route_that_is_not_accepted_now_has_its_present_condition() -> None:
    refused = ROUTE_ACCEPTED.false("NoMatchingParent", "The parent has no listener of that name or port")
    assert previous_refusals(published(), US, (ours(refused),)) == {}


def test_the_response_of_the_data_plane_precedes() -> None:
    previous = {PARENT: ROUTE_ACCEPTED.false("UnsupportedValue", MESSAGE)}
    seen = Seen(published(), US, RouteParents((ours(),)), {GATEWAY: "no"}, previous)
    [entry] = judge(seen, Answers({}, {})).parents or ()
    assert entry.conditions[0].message == "no"


def test_an_endpoint_that_is_left_out_is_named_on_the_route() -> None:
    """docs/spec/gateway/routes.md, whether its backends accept connections."""
    left_out = "Service default/web: no connection is made to its endpoint fe80::1, a link-local or metadata address"
    web = Backend(Key("default", "web"), 80, "", "http1")
    seen = Seen(
        published(),
        US,
        RouteParents((ours(),), backends=(web,)),
        health={web: BackendHealth("True", "BackendsReady", left_out)},
    )
    [entry] = judge(seen, Answers({}, {})).parents or ()
    [found] = [condition for condition in entry.conditions if condition.type == "seamark.dev/BackendsReady"]
    assert (found.status, found.reason) == ("True", "BackendsReady")
    assert found.message == f"Every backend has a ready endpoint that accepts connections. {left_out}"
