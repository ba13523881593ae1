"""The gateway family for scenarios, and gateways and routes as they are translated."""

from __future__ import annotations

from seamark.families.gateway.family import controllers
from seamark.families.gateway.model.addresses import AddressAssignment
from seamark.families.gateway.model.gateways import NO_TLS, GatewayView, ListenerView
from seamark.families.gateway.model.options import Cluster, Front, Options
from seamark.families.gateway.model.routes import AttachedRoute, Backend, RouteView, Rule
from seamark.families.gateway.translation.snapshot import translate
from seamark.families.gateway.translation.state import TranslationInput
from seamark.gatewayapi.listeners import ListenerId, ListenerSpec
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.dataplane.model import Entry, Forward, Match, Origin, Snapshot, Target
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.controller import Declaration

# ---- the family


def without_translation(options: Options) -> tuple[Declaration, ...]:
    """What is published before the data plane has answered."""
    declared = controllers(options, MemoryDataPlane(listens=True))
    return tuple(controller for controller in declared if controller.name != "gateway-translations")


def gateway() -> tuple[Declaration, ...]:
    return without_translation(Options(addresses=("192.0.2.0/24",)))


def gateway_pods() -> tuple[Declaration, ...]:
    """With Envoys as Pods of the cluster."""
    return without_translation(Options(cluster=Cluster(load_balancer_class="seamark.dev/edge")))


def gateway_fronts() -> tuple[Declaration, ...]:
    """With Envoys of this machine and Services before them."""
    return without_translation(Options(addresses=("192.0.2.0/24",), front=Front(load_balancer_class="ngrok")))


# ---- what is translated

GATEWAY = Key("default", "gateway")
LISTENER = ListenerId("Gateway", GATEWAY, "http")
GOOD = Condition(type="Accepted", status="True", reason="Accepted", message="", last_transition_time="")


def origin(name: str) -> Origin:
    return Origin("HTTPRoute", "default", name)


def route(name: str, path: str = "") -> AttachedRoute:
    backend = Backend(Key("default", "web"), 80, "", "http1")
    entry = Entry(Match(path or f"/{name}"), Forward((Target(backend.cluster),)), origin(name))
    rule = Rule("", (entry,), ((2, -len(name), True, 0, 0),))
    view = RouteView(origin(name), ("2026-01-01T00:00:00Z", name), (), (rule,), ((backend.cluster, backend),))
    return AttachedRoute(view, ((LISTENER, ("",)),))


def given(*routes: AttachedRoute) -> TranslationInput:
    """These routes at a gateway with one listener."""
    spec = ListenerSpec(LISTENER, 80, "HTTP", "", ("HTTPRoute",), "Same", None, passthrough=False)
    listener = ListenerView(spec, NO_TLS, (), ())
    view = GatewayView(GATEWAY, (listener,), GOOD, None, (), AddressAssignment(("127.0.0.1",)))
    return TranslationInput(view, routes, {})


def snapshot_of(seen: TranslationInput) -> Snapshot:
    return translate(seen, {}).snapshot
