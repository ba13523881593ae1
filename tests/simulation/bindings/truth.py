"""What is true of a binding, found out from the store, the edge and the network alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seamark.families.bindings.model.targets import BadTarget, Target, parse
from tests.simulation.bindings.acts import BOUND, HOME, OPERATORS
from tests.simulation.bindings.outside import NEVER
from tests.simulation.faults import RESTORES, Fault
from tests.simulation.invariants import conditions_of
from tests.simulation.scenario import Violation

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World

TOLD_LATELY = 400.0  # seconds for which a trouble explains a False
SEEN_LATELY = 60.0
WATCH_IDLE = 4000.0


class Truth:
    """Remembers how Services were, and raises where a status does not match."""

    def __init__(self, world: World, shelf_life: float) -> None:
        self._world = world
        self._shelf_life = shelf_life
        self._services: dict[tuple[str, str], list[tuple[float, Any]]] = {}

    def service_changed(self, event: Event) -> None:
        self._services.setdefault(event.key, []).append((self._world.clock.monotonic(), event.new))

    def learn_again(self) -> None:
        now = self._world.clock.monotonic()
        for history in self._services.values():
            history.append((now, None))
        for obj in self._world.store.objects("services"):
            key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
            self._services.setdefault(key, []).append((now, obj))

    def _lately(self, namespace: str, name: str, within: float) -> list[Any]:
        """What stood there at some moment since then."""
        since, history = self._world.clock.monotonic() - within, self._services.get((namespace, name), [])
        ends = [*(at for at, _ in history[1:]), float("inf")]
        return [obj for (_, obj), end in zip(history, ends, strict=False) if end >= since]  # of nothing, nothing ends

    # ---- at every write of a status

    def judge(self, old: Any, new: Any) -> None:
        before = conditions_of(old)
        for name, condition in conditions_of(new).items():
            if condition == before.get(name):
                continue
            if condition["status"] == "True":
                self._no_lie(new, name)
            elif condition["status"] == "False":
                self._no_false_alarm(new, name)

    def _no_lie(self, obj: Any, name: str) -> None:
        target, port = obj["spec"]["target"], obj["spec"]["port"]
        upstreams = [one for one in self._lately(HOME, obj["metadata"]["name"], SEEN_LATELY) if one is not None]
        if name in ("ServicesCreated", "Ready"):
            here = self._lately(target["namespace"], target["service"], SEEN_LATELY)
            if not any(one is not None and one["spec"].get("type") == "ExternalName" for one in here):
                raise Violation("no lie", f"{name} is True, but there was no target Service")
            if not any(leads(one, target["port"], port) for one in upstreams):
                raise Violation("no lie", f"{name} is True, but no upstream Service led to port {port}")
        if name in ("ConnectivityVerified", "Ready"):
            stood = [one for one in self._lately(HOME, obj["metadata"]["name"], self._shelf_life) if one is not None]
            now, connected = self._world.clock.monotonic(), self._world.outside.network.connected
            last = max(
                (connected.get((one["spec"].get("clusterIP"), target["port"]), NEVER) for one in stood), default=NEVER
            )
            if now - last > self._shelf_life:
                raise Violation("no lie", f"{name} is True, but nobody has connected to port {target['port']} in time")

    def _no_false_alarm(self, obj: Any, name: str) -> None:
        world, target = self._world, obj["spec"]["target"]
        silence = WATCH_IDLE if Fault.HALF_OPEN in world.befallen else 0.0
        lately = world.clock.monotonic() - TOLD_LATELY - silence
        if name == "ConnectivityVerified" and world.outside.network.failed.get(target["port"], NEVER) < lately:
            raise Violation("no false alarm", f"{name} is False, but the network has not failed")
        if name == "ServicesCreated":
            here = self._lately(target["namespace"], target["service"], TOLD_LATELY + silence)
            foreign = any(one is not None and one["spec"].get("type") != "ExternalName" for one in here)
            refused = any(at >= lately and "/services" in path for at, _, path in world.failures)
            rivals = [one for one in world.store.objects(BOUND) if one["spec"]["target"] == target]
            if not (foreign or refused or len(rivals) > 1 or set(world.befallen) & set(RESTORES)):
                raise Violation("no false alarm", f"{name} is False, but nobody has refused a Service")

    # ---- at rest

    def wrong(self) -> str:  # noqa: PLR0911  one row for each thing that can be wrong
        world = self._world
        collect_garbage(world)
        operator = world.store.get(OPERATORS, HOME, "seamark")
        if operator is None:
            return self.left()
        if "deletionTimestamp" in operator["metadata"]:
            return "the installation is still going"
        if (conditions_of(operator).get("Ready") or {}).get("status") != "True":
            return f"the installation is not ready: {conditions_of(operator).get('Ready')}"
        if world.store.get("secrets", HOME, "default-tls") is None:
            return "there is no certificate"
        wanted = expected(world)
        objects = {obj["metadata"]["name"]: obj for obj in world.store.objects(BOUND)}
        if set(objects) != {target.name for target in wanted}:
            return f"bound are {sorted(objects)}, and should be {sorted(target.url for target in wanted)}"
        ports = [obj["spec"]["port"] for obj in objects.values()]
        if len(set(ports)) != len(ports):
            return f"ports are given twice: {ports}"
        for target, ids in wanted.items():
            if words := self._object_wrong(target, ids, objects):
                return f"{target.url}: {words}"
        return self._services_wrong(objects)

    def _object_wrong(self, target: Target, ids: list[str], objects: dict[str, Any]) -> str:
        obj = objects[target.name]
        if "deletionTimestamp" in obj["metadata"]:
            return "it is still being deleted"
        status, count = obj.get("status") or {}, len(ids)
        if [one["id"] for one in status.get("endpoints") or ()] != sorted(ids) or status.get(
            "hashedName"
        ) != target.name:
            return f"its endpoints are {status.get('endpoints')}, and should be {ids}"
        if status.get("endpointsSummary") != (f"{count} endpoint" if count == 1 else f"{count} endpoints"):
            return f"it says {status.get('endpointsSummary')}"
        services, connectivity = self._statements(target, obj, objects)
        ready = (
            "False"
            if "False" in (services, connectivity)
            else "Unknown"
            if "Unknown" in (services, connectivity)
            else "True"
        )
        for name, wanted in (("ServicesCreated", services), ("ConnectivityVerified", connectivity), ("Ready", ready)):
            found = conditions_of(obj).get(name) or {}
            if (found.get("status"), found.get("observedGeneration")) != (wanted, obj["metadata"]["generation"]):
                return f"{name} is {found}, and should be {wanted}"
        return ""

    def _statements(self, target: Target, obj: Any, objects: dict[str, Any]) -> tuple[str, str]:
        if holder(target, objects) != obj["metadata"]["name"]:
            return "False", "Unknown"
        standing = self._world.store.get("services", target.namespace, target.service)
        foreign = standing is not None and standing["spec"].get("type") != "ExternalName"
        return "False" if foreign else "True", "False" if target.port in self._world.outside.network.down else "True"

    def _services_wrong(self, objects: dict[str, Any]) -> str:
        groups: dict[tuple[str, str], list[Any]] = {}
        for obj in objects.values():
            target = obj["spec"]["target"]
            if holder(target_of(obj), objects) == obj["metadata"]["name"]:
                groups.setdefault((target["namespace"], target["service"]), []).append(obj)
        for (namespace, name), members in groups.items():
            ports = sorted((obj["spec"]["target"]["port"], obj["spec"]["port"]) for obj in members)
            service = self._world.store.get("services", namespace, name)
            if service is None:
                return f"there is no Service {namespace}/{name}"
            if service["spec"].get("type") == "ExternalName":
                oldest = min(members, key=age)["metadata"]["name"]
                if service["spec"]["externalName"] != f"{oldest}.{HOME}.svc.cluster.local":
                    return f"{name} leads to {service['spec']['externalName']}, and should lead to {oldest}"
                if sorted(one["port"] for one in service["spec"]["ports"]) != [port for port, _ in ports]:
                    return f"{name} has the ports {service['spec']['ports']}"
            for obj in members:
                upstream = self._world.store.get("services", HOME, obj["metadata"]["name"])
                if (
                    upstream is None
                    or sorted((one["port"], one["targetPort"]) for one in upstream["spec"]["ports"]) != ports
                ):
                    return f"the upstream Service of {obj['metadata']['name']} is {upstream}"
        wanted = {*groups, *((HOME, obj["metadata"]["name"]) for members in groups.values() for obj in members)}
        extra = {place for place, service in ours(self._world).items() if place not in wanted}
        return f"{sorted(extra)} are left" if extra else ""

    def left(self) -> str:
        """What is left of us when the installation is gone."""
        world = self._world
        collect_garbage(world)
        found = [obj["metadata"]["name"] for obj in world.store.objects(BOUND)]
        if found or ours(world):
            return f"{found} and {sorted(ours(world))} are left"
        if world.outside.operators() and not set(world.befallen) & set(RESTORES):
            return "the registration is left at the edge"
        return ""


def collect_garbage(world: World) -> None:
    """What kube-controller-manager does with children whose owner is gone: a restored past may bring some back."""
    alive = {obj["metadata"]["uid"] for obj in world.store.objects(BOUND)}
    for obj in list(world.store.objects("services")):
        owners = [one["uid"] for one in obj["metadata"].get("ownerReferences") or ()]
        if owners and not alive & set(owners):
            world.store.delete("services", obj["metadata"]["namespace"], obj["metadata"]["name"])


def ours(world: World) -> dict[tuple[str, str], Any]:
    labelled = "ngrok.com/endpoint-binding-name"
    return {
        (obj["metadata"]["namespace"], obj["metadata"]["name"]): obj
        for obj in world.store.objects("services")
        if labelled in (obj["metadata"].get("labels") or {})
    }


def expected(world: World) -> dict[Target, list[str]]:
    found: dict[Target, list[str]] = {}
    for url, ids in world.outside.urls().items():
        try:
            found[parse(url)] = ids
        except BadTarget:
            continue
    return found


def target_of(obj: Any) -> Target:
    target = obj["spec"]["target"]
    return Target(obj["spec"]["scheme"], target["service"], target["namespace"], target["port"])


def age(obj: Any) -> tuple[str, str, str]:
    meta = obj["metadata"]
    return meta["creationTimestamp"], meta["namespace"], meta["name"]


def holder(target: Target, objects: dict[str, Any]) -> str:
    """Of those on one port of one Service, the oldest."""
    place = (target.service, target.namespace, target.port)
    found = [(target_of(obj), obj) for obj in objects.values()]
    rivals = [obj for one, obj in found if (one.service, one.namespace, one.port) == place]
    return str(min(rivals, key=age)["metadata"]["name"])


def leads(service: Any, port: int, target_port: int) -> bool:
    return any(
        (one["port"], one.get("targetPort")) == (port, target_port) for one in service["spec"].get("ports") or ()
    )
