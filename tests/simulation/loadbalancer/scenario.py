"""Services of type LoadBalancer and an edge outside; what the edge has is the oracle.

- No owner has two addresses, at any moment (the fake checks); none is left at the end.
- A status never shows a custom domain, nor an address that the edge has not reserved.
- While the edge is silent no address is removed, unless a person has done something since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seamark.families.loadbalancer.family import CRDS, controllers
from seamark.families.loadbalancer.model.options import Intervals, Options
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import memory_edge
from seamark.providers.edge.objectcache import Freshness
from seamark_edge.model import Owner
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from tests.simulation.faults import RESTORES
from tests.simulation.invariants import StatusHistory, conditions_of
from tests.simulation.loadbalancer.acts import (
    AGENTS,
    CLOUDS,
    DENY,
    DOMAINS,
    NAMESPACE,
    POLICIES,
    POLICY,
    SERVICES,
    STRATEGY,
    URL,
    annotate,
    change,
    collect_garbage,
    delete,
    delete_all,
    edit_endpoint,
    listed,
    owners,
    policy,
    serve,
)
from tests.simulation.loadbalancer.edge import TwinEdge
from tests.simulation.scenario import Step, Violation

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write

CUSTOM, FIXED = "app.example.com", "edge.example:29000"
TIMING = Intervals(
    poll=100.0, verify=150.0, shelf_life=3600.0, linger=250.0, soon=100.0, dial=100.0, dial_shelf_life=400.0
)
VERBOSE = {STRATEGY: "endpoints-verbose"}


class LoadBalancerScenario:
    name = "loadbalancer"
    crds: tuple[CRD, ...] = CRDS

    def __init__(self) -> None:
        self._history = StatusHistory()
        self._world: World
        self._first_revision = 0
        self.options = Options(cluster="sim")

    def outside(self) -> TwinEdge:
        return TwinEdge()

    def controllers(self, outside: Any) -> tuple[Declaration, ...]:
        clock = outside.world.clock
        provider = memory_edge(outside, Freshness(TIMING.verify, TIMING.shelf_life, clock), reachable=True)
        return controllers(replace(self.options, timing=TIMING), provider, clock=clock)

    def attach(self, world: World) -> None:
        self._world = world
        self._first_revision = world.store.revisions.current
        world.outside.world = world
        world.store.revisions.subscribe(SERVICES, self._service_changed)
        for kind in (AGENTS, CLOUDS, DOMAINS, POLICIES):
            world.store.revisions.subscribe(kind, self._changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        return (
            Step("a service", lambda world: serve(world, "tcp"), most=5),
            Step("a custom domain", lambda world: serve(world, "web", {URL: f"tls://{CUSTOM}", **VERBOSE}), most=8),
            Step("a host of the edge's", lambda world: serve(world, "own", {URL: "tls://own.edge.example"}), most=6),
            Step("the domain again", lambda world: serve(world, "late", {URL: f"tls://{CUSTOM}"}), most=2),
            Step("an address without an owner", lambda world: serve(world, "fix", {URL: f"tcp://{FIXED}"}), most=2),
            Step("it is reserved", lambda world: world.outside.reserve_by_hand(FIXED), most=4, wait=1),
            Step("a policy that is not there", lambda world: annotate(world, "tcp", traffic_policy="deny"), most=9),
            Step("it comes", lambda world: policy(world, "deny", DENY), most=9),
            Step("it becomes nonsense", lambda world: policy(world, "deny", {"bad": []}), most=9),
            Step("it is mended", lambda world: policy(world, "deny", DENY), most=9),
            Step("nonsense for a URL", lambda world: annotate(world, "own", url="tls://a:b@c"), most=2),
            Step("and sense again", lambda world: annotate(world, "own", url="tls://own.edge.example"), most=1),
            Step("two ports", lambda world: change(world, "tcp", ports=listed(80, 81)), most=6),
            Step("an endpoint is edited", lambda world: edit_endpoint(world, "tcp"), most=3),
            Step("verbose", lambda world: annotate(world, "own", mapping_strategy="endpoints-verbose"), most=5),
            Step("and back", lambda world: annotate(world, "own", mapping_strategy=None), most=6),
            Step("the edge loses all addresses", lambda world: world.outside.lose(Kind.ADDRESSES), most=9),
            Step("the edge loses all endpoints", lambda world: world.outside.lose(Kind.ENDPOINTS), most=6),
            Step("one port", lambda world: change(world, "tcp", ports=listed(82)), most=6),
            Step("no load balancer", lambda world: change(world, "tcp", **NO_LOAD_BALANCER), most=3),
            Step("the operator restarts", lambda world: world.restart_operator()),
            Step("the first with the domain goes", lambda world: delete(world, SERVICES, "web"), most=13),
            Step("an upstream refuses connections", lambda world: refuse(world, "own"), most=4),
            Step("it accepts them again", lambda world: world.outside.unreachable.clear(), most=4),
            Step("the edge is silent for hours, and the operator restarts", self._outage, most=40),
        )

    def farewell(self) -> Step:
        return Step("all go", delete_all, most=10)

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))
        self._history.forget()

    def empty(self, world: World) -> None:
        delete_all(world)
        collect_garbage(world)

    # ---- what is true

    def _changed(self, event: Event) -> None:
        if event.new is not None:
            with self._world.watching():
                self._history.check(
                    event.old, event.new, self._world.clock.wall(), ours=self._world.operator_is_writing
                )

    def _service_changed(self, event: Event) -> None:
        if event.new is None or not self._world.operator_is_writing:
            return
        with self._world.watching():
            shown = ingress(event.new)
            before = ingress(event.old) if event.old else []
            self._nothing_removed(event.new, before, shown)
            for host, port in shown:
                if host == CUSTOM:
                    raise Violation("never the custom domain", f"{event.new['metadata']['name']} shows it")
                new = (host, port) not in before
                if new and port != 443 and f"{host}:{port}" not in self._reserved(event.new["metadata"]["uid"]):
                    raise Violation("no lie", f"{host}:{port} is shown, and not reserved")

    def _outage(self, world: World) -> None:
        """Longer than anything that the edge has answered is relied on, on both sides of a restart."""
        world.outside.fall_silent(3 * TIMING.shelf_life)
        loop = asyncio.get_running_loop()
        loop.call_later(TIMING.dial_shelf_life + GRACE, self._nothing_reachable)
        loop.call_later(1.5 * TIMING.shelf_life, world.restart_operator)
        loop.call_later(2 * TIMING.shelf_life, self._nothing_reachable)

    def _nothing_reachable(self) -> None:
        """The edge has been silent for longer than its answers about upstreams are relied on."""
        if not self._world.outside.silent:
            return
        with self._world.watching():
            for service in services(self._world):
                if conditions_of(service).get(REACHABLE, {}).get("status") == "True":
                    raise Violation("in time", f"{service['metadata']['name']} is Reachable, and the edge is silent")

    def _nothing_removed(self, service: Any, before: Any, shown: Any) -> None:
        outside, removed = self._world.outside, sorted(set(before) - set(shown))
        if removed and outside.silent and self._world.acted <= outside.silent_since:
            raise Violation("an outage removes nothing", f"{service['metadata']['name']} shows {removed} no more")

    def _reserved(self, uid: str) -> set[str]:
        items = self._world.outside.there(Kind.ADDRESSES)
        found = {item["addr"] for item in items if (owner := Owner.of(item["metadata"])) and owner.uid == uid}
        return {*found, FIXED}

    def wrote(self, world: World, write: Write) -> None:
        if "/services/kubernetes" in write.path:
            raise Violation("not ours", f"{write.path} is another's Service")

    # ---- at rest

    def unsettled(self, world: World) -> str:
        if collect_garbage(world):
            return "garbage was collected"
        for service in services(world):
            if words := self._service_unsettled(world, service):
                return f"{service['metadata']['name']}: {words}"
        for kind in (AGENTS, CLOUDS, DOMAINS):
            for obj in world.store.objects(kind):
                if words := endpoint_unsettled(world, obj):
                    return f"{kind} {obj['metadata']['name']}: {words}"
        return self._edge_unsettled(world)

    def _service_unsettled(self, world: World, service: Any) -> str:  # noqa: PLR0911  one row per cause
        meta = service["metadata"]
        if "deletionTimestamp" in meta:
            return "it is still being deleted"
        ours = service["spec"]["type"] == "LoadBalancer"
        children = {
            kind: [o for o in world.store.objects(kind) if meta["uid"] in owners(o)] for kind in (AGENTS, CLOUDS)
        }
        if not ours:
            left = [o["metadata"]["name"] for found in children.values() for o in found]
            marked = "k8s.ngrok.com/finalizer" in meta.get("finalizers", ())
            return f"{left} are left, or its mark" if left or marked or conditions_of(service) else ""
        expected = self._expected(world, service)
        if self._nonsense(world, service):
            more = set(ingress(service)) - set(expected)
            return f"it shows {sorted(more)}, which it has not" if more else ""  # what runs stays; what is new waits
        if sorted(ingress(service)) != sorted(expected):
            return f"it shows {ingress(service)}, and should show {expected}"
        if not expected:
            return "" if conditions_of(service).get(f"{PREFIX}Accepted", {}).get("status") == "False" else "no word why"
        if words := reachable_unsettled(world, service):
            return words
        verbose = (meta.get("annotations") or {}).get(STRATEGY) == "endpoints-verbose"
        ports = len({port for _, port in expected})
        counts = (len(children[AGENTS]), len(children[CLOUDS]))
        return "" if counts == (ports, ports if verbose else 0) else f"it has {counts} endpoints"

    @staticmethod
    def _nonsense(world: World, service: Any) -> bool:
        """Whether a user has written something invalid, after a restore, and it is not repaired."""
        said = service["metadata"].get("annotations") or {}
        policy = world.store.get(POLICIES, NAMESPACE, said[POLICY]) if POLICY in said else None
        return "@" in said.get(URL, "") or (policy is not None and "bad" in policy["spec"]["policy"])

    def _expected(self, world: World, service: Any) -> list[tuple[str, int]]:
        meta = service["metadata"]
        url = (meta.get("annotations") or {}).get(URL, "")
        if url == f"tls://{CUSTOM}":
            if self._holder(world) != meta["name"]:
                return []
            items = world.outside.there(Kind.DOMAINS)
            return [(item["cname_target"], 443) for item in items if item["domain"] == CUSTOM] or [("?", 443)]
        if url.startswith("tls://"):
            nonsense = "@" in url  # what runs stays, and what is shown of it
            return [("own.edge.example" if nonsense else url.removeprefix("tls://"), 443)]
        if url:
            reserved = any(item["addr"] == FIXED for item in world.outside.there(Kind.ADDRESSES))
            return [("edge.example", 29000)] if reserved else []
        mine = self._reserved(meta["uid"]) - {FIXED}
        if len(mine) != len(service["spec"]["ports"]):
            return [("an address for each port", 0)]
        return [(addr.rpartition(":")[0], int(addr.rpartition(":")[2])) for addr in mine]

    def _holder(self, world: World) -> str:
        """The owner of the custom domain: the one with the computed address."""
        for service in services(world):
            said = (service["metadata"].get("annotations") or {}).get("k8s.ngrok.com/computed-url", "")
            if CUSTOM in said:
                return str(service["metadata"]["name"])
        return ""

    def _edge_unsettled(self, world: World) -> str:
        online = {item["url"] for item in world.outside.there(Kind.ENDPOINTS)}
        if missing := [obj["spec"]["url"] for obj in world.store.objects(CLOUDS) if obj["spec"]["url"] not in online]:
            return f"{missing} are not online"
        if set(world.befallen) & set(RESTORES):
            return ""  # what the past does not know of may be left
        uids = {service["metadata"]["uid"] for service in services(world)}
        for item in world.outside.there(Kind.ADDRESSES):
            owner = Owner.of(item["metadata"])
            if owner is not None and owner.uid not in uids:
                return f"{item['addr']} is reserved, and its Service is gone"
        return ""

    def quiet_from(self, world: World) -> float:
        return world.clock.monotonic()

    def left(self, world: World) -> str:
        collect_garbage(world)
        kinds = (AGENTS, CLOUDS, DOMAINS, POLICIES)
        left = [f"{kind} {obj['metadata']['name']}" for kind in kinds for obj in world.store.objects(kind)]
        left += [service["metadata"]["name"] for service in services(world)]
        if left:
            return f"{left} are still there"
        if set(world.befallen) & set(RESTORES):
            return ""
        outside = [str(item) for kind in (Kind.DOMAINS, Kind.ENDPOINTS) for item in world.outside.there(kind)]
        outside += [item["addr"] for item in world.outside.there(Kind.ADDRESSES) if Owner.of(item["metadata"])]
        return f"{outside} are left at the edge" if outside else ""

    def summary(self, world: World) -> Any:
        return {
            "services": sorted(service["metadata"]["name"] for service in services(world)),
            "reserved": sorted(item["domain"] for item in world.outside.there(Kind.DOMAINS)),
        }


def refuse(world: World, service: str) -> None:
    """Nothing is behind the address of a Service any more."""
    found = world.store.get(SERVICES, NAMESPACE, service)
    if found is not None:
        world.outside.unreachable[found["metadata"]["annotations"]["k8s.ngrok.com/computed-url"]] = "refused"


def reachable_unsettled(world: World, service: Any) -> str:
    url = (service["metadata"].get("annotations") or {}).get("k8s.ngrok.com/computed-url", "")
    condition = conditions_of(service).get(REACHABLE, {})
    expected = "False" if url in world.outside.unreachable else "True"
    return "" if condition.get("status") == expected else f"Reachable is {condition}, and should be {expected}"


PREFIX = "k8s.ngrok.com/"
REACHABLE = "k8s.ngrok.com/Reachable"
GRACE = 40.0  # seconds: a call that hangs, and the write
NO_LOAD_BALANCER: dict[str, Any] = {"type": "ClusterIP", "loadBalancerClass": None}


def services(world: World) -> list[Any]:
    return [obj for obj in world.store.objects(SERVICES) if obj["metadata"]["name"] != "kubernetes"]


def ingress(service: Any) -> list[tuple[str, int]]:
    entries = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return [(entry.get("hostname") or entry.get("ip"), port["port"]) for entry in entries for port in entry["ports"]]


def endpoint_unsettled(world: World, obj: Any) -> str:
    meta, ready = obj["metadata"], conditions_of(obj).get("Ready", {})
    if "deletionTimestamp" in meta:
        return "it is still being deleted"
    policy_error = conditions_of(obj).get("TrafficPolicyApplied", {}).get("reason") == "TrafficPolicyError"
    if ready.get("observedGeneration") != meta["generation"]:
        return f"Ready speaks of {ready.get('observedGeneration')}, not {meta['generation']}"
    if ready["reason"] == "NotChecked":
        return ""  # a custom domain: this edge does not look at its DNS
    unreachable = obj["spec"].get("url") in world.outside.unreachable
    if ready["status"] != ("False" if policy_error or unreachable else "True"):
        return f"Ready is {ready['status']}: {ready['message']}"
    return ""
