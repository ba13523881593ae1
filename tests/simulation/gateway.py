"""The gateway family in the simulator: gateways, routes, another controller's words, and outside facts that change.

The oracle computes attachment by itself, from the store alone: which parent of a route is a gateway of our class.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.families.gateway.family import TRAFFIC_POLICY, controllers
from seamark.families.gateway.model.options import Options
from seamark_runtime.api.core import Service
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.gateway import (
    Gateway,
    GatewayClass,
    GRPCRoute,
    HTTPRoute,
    ListenerSet,
    ReferenceGrant,
    TCPRoute,
    TLSRoute,
)
from seamark_runtime.api.meta import Key
from seamark_runtime.controller import Declaration
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.simulation.faults import Fault
from tests.simulation.gateway_plane import BAD, Trouble, TwinPlane
from tests.simulation.invariants import conditions_of
from tests.simulation.scenario import Step, Violation

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write

NAMESPACE = "default"
GROUP = "gateway.networking.k8s.io"
GATEWAYS, ROUTES, CLASSES = f"gateways.{GROUP}", f"httproutes.{GROUP}", f"gatewayclasses.{GROUP}"
BACKENDS_READY = "seamark.dev/BackendsReady"
OURS, THEIRS = "kgateway.dev/kgateway", "example.com/other"
KINDS = (GatewayClass, Gateway, ListenerSet, HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, ReferenceGrant, BackendTLSPolicy)
SLICES = str(EndpointSlice.RESOURCE)
OPTIONS = Options(addresses=("192.0.2.0/24",), counting=0.5, verify=200.0)
SHELF_LIFE = 3 * OPTIONS.verify
GRACE = 40.0  # seconds: a call that hangs, and the write
FOREIGN = {
    "controllerName": THEIRS,
    "parentRef": {"name": "theirs"},
    "conditions": [
        {
            "type": "Accepted",
            "status": "True",
            "reason": "Theirs",
            "message": "as they like it",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1,
        }
    ],
}


class GatewayScenario:
    name = "gateway"
    crds: tuple[CRD, ...] = (*(CRD(kind=kind) for kind in KINDS), TRAFFIC_POLICY)

    def __init__(self) -> None:
        self._world: World
        self._first_revision = 0

    def outside(self) -> TwinPlane:
        return TwinPlane()

    def controllers(self, outside: Any) -> tuple[Declaration, ...]:
        return controllers(OPTIONS, outside)

    def attach(self, world: World) -> None:
        self._world = world
        for name, controller in (("kgateway", OURS), ("theirs", THEIRS)):
            create(world, GatewayClass, name, {"controllerName": controller})
        create(world, Service, "web", {"ports": [{"port": 80}]})
        self._first_revision = world.store.revisions.current
        world.outside.world = world
        world.store.revisions.subscribe(GATEWAYS, self._gateway_changed)
        world.store.revisions.subscribe(ROUTES, self._route_changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        return (
            Step("a gateway", lambda world: gateway(world, "a"), most=2),
            Step("a route", lambda world: route(world, "r", "a"), most=2),
            Step("another controller speaks", lambda world: speak(world, "r"), most=0),
            Step("a second parent that is not there", lambda world: route(world, "r", "a", "b"), most=2),
            Step("now it is", lambda world: gateway(world, "b"), most=4),
            Step("another controller's route", lambda world: route(world, "foreign", "theirs"), most=0),
            Step("one that the data plane refuses", lambda world: route(world, BAD, "a"), most=4),
            Step("another one beside it", lambda world: route(world, "late", "a"), most=3),
            Step("it is mended", lambda world: route(world, BAD, "b", name_of="good"), most=6),
            Step("the data plane restarts", lambda world: world.outside.restart(), most=2),
            Step("the first gateway goes", lambda world: delete(world, GATEWAYS, "a"), most=4),
            Step("the other one's class moves away", lambda world: gateway(world, "b", "theirs"), most=5),
            Step("and comes back", lambda world: gateway(world, "b"), most=5),
            Step("our words are wiped", lambda world: wipe(world, "r"), most=2),
            Step(
                "the operator restarts", lambda world: world.restart_operator(), most=1
            ),  # its warning is there already
            Step("a backend has an endpoint", endpoint_comes, most=4),
            Step("everything beyond us freezes, and the operator restarts", self._freeze),
            Step("it is late", lambda world: self._trouble(world, Trouble.LATE)),
            Step("another program answers", lambda world: self._trouble(world, Trouble.OTHER)),
            Step("the endpoint goes", lambda world: delete(world, SLICES, "web"), most=4),
            Step("the route is an orphan", lambda world: route(world, "r", "nowhere"), most=4),
        )

    def farewell(self) -> Step:
        return Step("all go", delete_all, most=9)

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))

    def empty(self, world: World) -> None:
        delete_all(world)

    # ---- what is true

    def wrote(self, world: World, write: Write) -> None:
        if "/httproutes/foreign/" in write.path and write.took_effect:
            raise Violation("not ours", "a route of another controller was written")

    def _gateway_changed(self, event: Event) -> None:
        if event.new is None or event.old is None or not self._world.operator_is_writing:
            return
        said, before = conditions_of(event.new).get("Programmed"), conditions_of(event.old).get("Programmed")
        if said is None or said == before or said["status"] != "True":
            return
        with self._world.watching():
            key = Key(NAMESPACE, event.new["metadata"]["name"])
            if not any(snapshot.listeners for snapshot in self._world.outside.ever.get(key, ())):
                raise Violation("no lie", f"{key.name} is Programmed, but was never served")

    def _route_changed(self, event: Event) -> None:
        """Whatever the operator does, others' entries stay as they are, in place."""
        if event.new is None or event.old is None or not self._world.operator_is_writing:
            return
        with self._world.watching():
            if foreign(event.new) != foreign(event.old):
                raise Violation("foreign fields", "another controller's entry was touched")

    def _trouble(self, world: World, trouble: Trouble) -> None:
        world.outside.fall_ill(trouble, SHELF_LIFE + 3 * GRACE)
        self._judge_in(SHELF_LIFE + GRACE)

    def _freeze(self, world: World) -> None:
        """On both sides of a restart, which may keep what was published for one more shelf life."""
        world.outside.fall_ill(Trouble.FROZEN, 3 * SHELF_LIFE)
        self._judge_in(SHELF_LIFE + GRACE)
        loop = asyncio.get_running_loop()
        loop.call_later(1.5 * SHELF_LIFE, world.restart_operator)
        loop.call_later(1.5 * SHELF_LIFE + GRACE, self._judge_in, SHELF_LIFE + GRACE)

    def _judge_in(self, seconds: float) -> None:
        world, now = self._world, self._world.clock.monotonic()
        lives, acts = world.lives, len(world.acts)

        def judge() -> None:
            plane = world.outside
            if plane.ill and plane.ill_since <= now and (world.lives, len(world.acts)) == (lives, acts):
                with world.watching():
                    nothing_is_true(world)

        asyncio.get_running_loop().call_later(seconds, judge)

    # ---- at rest

    def unsettled(self, world: World) -> str:
        if world.outside.ill:
            return "the data plane is in trouble"
        routes = list(world.store.objects(ROUTES))
        served: dict[str, set[str]] = {}
        for one in routes:
            name = one["metadata"]["name"]
            expected = {parent: verdict(world, one) for parent in parents(world, one)}
            for parent, accepted in expected.items():
                if accepted == "True":
                    served.setdefault(parent, set()).add(name)
            if words := wrongly(world, one, expected):
                return f"{name}: {words}"
        for one in world.store.objects(GATEWAYS):
            name = one["metadata"]["name"]
            attached = sum(name in parents(world, each) for each in routes)
            if words := gateway_wrongly(world, one, attached, served.get(name, set())):
                return f"{name}: {words}"
        return ""

    def quiet_from(self, world: World) -> float:
        return world.clock.monotonic()

    def left(self, world: World) -> str:
        if left := [one["metadata"]["name"] for kind in (GATEWAYS, ROUTES) for one in world.store.objects(kind)]:
            return f"{left} are still there"
        if world.outside.serving:
            return f"{sorted(map(str, world.outside.serving))} are still served"
        return ""

    def summary(self, world: World) -> Any:
        return {kind: [one["metadata"]["name"] for one in world.store.objects(kind)] for kind in (GATEWAYS, ROUTES)}


def ours(world: World, name: str) -> bool:
    found = world.store.get(GATEWAYS, NAMESPACE, name)
    return found is not None and found["spec"]["gatewayClassName"] == "kgateway"


def parents(world: World, one: Any) -> list[str]:
    """The parents of a route that are gateways of ours."""
    return [ref["name"] for ref in one["spec"]["parentRefs"] if ours(world, ref["name"])]


def verdict(world: World, one: Any) -> str:
    return "False" if one["metadata"]["name"] == BAD and not one["spec"].get("hostnames") else "True"


def entries(obj: Any) -> list[Any]:
    return (obj.get("status") or {}).get("parents") or []


def foreign(obj: Any) -> list[Any]:
    return [entry for entry in entries(obj) if entry["controllerName"] != OURS]


def wrongly(world: World, one: Any, expected: dict[str, str]) -> str:
    said = {entry["parentRef"]["name"]: entry for entry in entries(one) if entry["controllerName"] == OURS}
    if set(said) != set(expected):
        return f"it has entries for {sorted(said)}, and should have them for {sorted(expected)}"
    for parent, status in expected.items():
        conditions = {each["type"]: each for each in said[parent]["conditions"]}
        accepted = conditions["Accepted"]
        if accepted["observedGeneration"] != one["metadata"]["generation"]:
            return f"the entry for {parent} speaks of an older generation"
        if status == "True" and (words := backends_wrongly(world, conditions)):
            return f"at {parent}: {words}"
        if accepted["status"] != status:
            return f"Accepted at {parent} is {accepted['status']}, and should be {status}: {accepted['message']}"
    return ""


def backends_wrongly(world: World, conditions: dict[str, Any]) -> str:
    """A backend is ready exactly while it has an endpoint: in this world each accepts connections."""
    expected = "False" if world.store.get(SLICES, NAMESPACE, "web") is None else "True"
    ready = conditions.get(BACKENDS_READY)
    return "" if ready is not None and ready["status"] == expected else f"{BACKENDS_READY} is {ready}"


def nothing_is_true(world: World) -> None:
    """Nothing has answered for longer than a shelf life: neither gateways nor backends are known to work."""
    for kind in (GATEWAYS, ROUTES):
        for one in world.store.objects(kind):
            for condition in claims(one):
                if condition["status"] == "True":
                    words = f"{one['metadata']['name']}: {condition['type']} is True: {condition['message']}"
                    raise Violation("in time", f"{words}, and nothing has answered for {SHELF_LIFE:g} s")


def claims(one: Any) -> Iterator[Any]:
    """Conditions of ours that claim that something beyond us works."""
    status = one.get("status") or {}
    parts = (status, *(status.get("listeners") or ()), *(each for each in entries(one) if each not in foreign(one)))
    for part in parts:
        yield from (each for each in part.get("conditions") or () if each["type"] in {"Programmed", BACKENDS_READY})


def gateway_wrongly(world: World, one: Any, attached: int, served: set[str]) -> str:
    name, conditions = one["metadata"]["name"], conditions_of(one)
    if not ours(world, name):
        return "it is not ours, but has words of ours" if conditions else ""
    for type_ in ("Accepted", "Programmed"):
        said = conditions.get(type_)
        if said is None or said["status"] != "True" or said["observedGeneration"] != one["metadata"]["generation"]:
            return f"{type_} is {said}"
    counted = one["status"]["listeners"][0]["attachedRoutes"]
    if counted != attached:
        return f"{counted} routes are said to be attached; there are {attached}"
    snapshot = world.outside.serving.get(Key(NAMESPACE, name))
    if snapshot is None:
        return "it is not served"
    really = {e.origin.name for table in snapshot.tables.values() for host in table.hosts for e in host.entries}
    return "" if really == served else f"{sorted(really)} are served, and should be {sorted(served)}"


# ---- acts


def create(world: World, kind: Any, name: str, spec: Any) -> None:
    resource = kind.RESOURCE
    metadata = {"name": name, **({"namespace": NAMESPACE} if resource.namespaced else {})}
    world.store.create({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec})


def put(world: World, kind: Any, name: str, spec: Any) -> None:
    if world.under(Fault.NAMESPACE):
        return  # the API server would refuse it
    where = str(kind.RESOURCE)
    if world.store.get(where, NAMESPACE, name) is None:
        create(world, kind, name, spec)
    else:
        patch(world, kind.RESOURCE.path(NAMESPACE, name), {"spec": spec})


def gateway(world: World, name: str, class_name: str = "kgateway") -> None:
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    put(world, Gateway, name, {"gatewayClassName": class_name, "listeners": listeners})


def route(world: World, name: str, *names: str, name_of: str = "") -> None:
    rules = [{"backendRefs": [{"name": "web", "port": 80}]}]
    hostnames = {"hostnames": [f"{name_of}.example.com"]} if name_of else {}
    put(world, HTTPRoute, name, {"parentRefs": [{"name": each} for each in names], "rules": rules, **hostnames})


def endpoint_comes(world: World) -> None:
    if world.store.get(SLICES, NAMESPACE, "web") is None and not world.under(Fault.NAMESPACE):
        world.store.create(
            {
                "apiVersion": EndpointSlice.RESOURCE.api_version,
                "kind": "EndpointSlice",
                "metadata": {"name": "web", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": "web"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["192.0.2.200"], "conditions": {"ready": True}}],
                "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
            }
        )


def speak(world: World, name: str) -> None:
    standing = world.store.get(ROUTES, NAMESPACE, name)
    if standing is not None:
        path = HTTPRoute.RESOURCE.path(NAMESPACE, name, "status")
        patch(world, path, {"status": {"parents": [FOREIGN, *entries(standing)]}})


def wipe(world: World, name: str) -> None:
    standing = world.store.get(ROUTES, NAMESPACE, name)
    if standing is not None:
        path = HTTPRoute.RESOURCE.path(NAMESPACE, name, "status")
        patch(world, path, {"status": {"parents": foreign(standing)}})


def delete(world: World, kind: str, name: str) -> None:
    if world.store.get(kind, NAMESPACE, name) is not None:
        world.store.delete(kind, NAMESPACE, name)


def delete_all(world: World) -> None:
    delete(world, SLICES, "web")
    for kind in (ROUTES, GATEWAYS):
        for one in list(world.store.objects(kind)):
            delete(world, kind, one["metadata"]["name"])


def patch(world: World, path: str, body: Any) -> None:
    request = HttpRequest(
        "PATCH", received_path(path), body=json.dumps(body).encode(), content_type="application/merge-patch+json"
    )
    answer = world.store.handle(request)
    assert isinstance(answer, Answer)
    assert answer.status in (200, 404), answer.body
