"""What each object says: judged from the reports about it, and written once per outcome."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway import classes
from seamark.families.gateway.classes import MANAGER
from seamark.families.gateway.gateways import parent_trouble
from seamark.families.gateway.listeners import gateway_key
from seamark.families.gateway.shapes import GatewayView, Verdict
from seamark.families.gateway.state import (
    CLASS_ACCEPTED,
    GATEWAY_ACCEPTED,
    GATEWAY_PROGRAMMED,
    GATEWAY_RESOLVED,
    PARTIALLY_INVALID,
    POLICY_ACCEPTED,
    POLICY_ATTACHED,
    POLICY_RESOLVED,
    ROUTE_ACCEPTED,
    ROUTE_RESOLVED,
    SET_ACCEPTED,
    SET_PROGRAMMED,
)
from seamark.families.gateway.wiring import OPTIONAL, ROUTES, Wiring, nothing
from seamark.families.gateway.words import (
    Counts,
    SeenGateway,
    SeenPolicy,
    SeenRoute,
    announce_policy,
    announce_route,
    announce_set,
    judge_gateway,
    judge_policy,
    judge_route,
    judge_set,
    refusals,
)
from seamark_runtime.api.gateway import Gateway, GatewayClass, ListenerSet, Route
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType
from seamark_runtime.controller import Controller, Declaration
from seamark_runtime.source import Collection
from seamark_runtime.status import ByEntry, ByManager, Entries
from seamark_runtime.view import View


class Statuses:
    """The status of each kind."""

    def __init__(self, wiring: Wiring) -> None:
        self._all = wiring
        self._name = wiring.options.controller_name

    def declarations(self) -> tuple[Declaration, ...]:
        return (
            self.gateway_classes(),
            self.gateway_status(),
            self.set_status(),
            *(self.route_status(kind) for kind in ROUTES),
            self.policy_status(BackendTLSPolicy, (POLICY_ACCEPTED, POLICY_RESOLVED)),
            self.policy_status(TrafficPolicy, (POLICY_ACCEPTED, POLICY_ATTACHED)),
        )

    def gateway_classes(self) -> Declaration:
        return Controller(
            name="gatewayclasses",
            kind=GatewayClass,
            observe=self._class,
            desire=nothing,
            judge=lambda one, _answers: classes.judge(one, self._all.options.features),
            status=ByManager(
                manager=MANAGER,
                conditions=(CLASS_ACCEPTED,),
                fields=("supported_features",),
                fence=f"object.spec.controllerName == '{self._name}'",
            ),
        )

    def _class(self, _view: View, one: GatewayClass, _results: Results) -> GatewayClass | None:
        return one if one.spec.controller_name == self._name else None

    def gateway_status(self) -> Declaration:
        return Controller(
            name="gateways",
            kind=Gateway,
            sources=(self._all.gateways, self._all.counts, self._all.verdicts),
            observe=lambda view, gateway, _results: self._told(view, gateway, gateway.key),
            desire=nothing,
            judge=lambda seen, _answers: judge_gateway(seen),
            status=ByManager(
                manager=MANAGER,
                conditions=(GATEWAY_ACCEPTED, GATEWAY_PROGRAMMED, GATEWAY_RESOLVED),
                fields=("addresses", "listeners", "attached_listener_sets"),
                entries=Entries("listeners", identity=lambda listener: listener.name),
                fence=f"object.spec.gatewayClassName == '{self._all.options.class_name}'",
            ),
        )

    def set_status(self) -> Declaration:
        return Controller(
            name="listenersets",
            kind=ListenerSet,
            optional=(ListenerSet,),
            sources=(self._all.gateways, self._all.counts, self._all.verdicts),
            reads=(Gateway,),
            observe=self._set,
            desire=nothing,
            judge=lambda seen, _answers: judge_set(seen),
            announce=lambda seen, _answers: announce_set(seen),
            status=ByManager(
                manager=MANAGER,
                conditions=(SET_ACCEPTED, SET_PROGRAMMED),
                fields=("listeners",),
                entries=Entries("listeners", identity=lambda listener: listener.name),
                fence=None,  # its controller is that of its gateway
            ),
        )

    def _told(self, view: View, obj: Gateway | ListenerSet, key: Key | None) -> SeenGateway | None:
        """What is known of the gateway; without that, our conditions there have to be removed."""
        found: GatewayView | None = None
        if key is not None:
            found = next(iter(view.reports(self._all.gateways, key).values()), None)
        if found is None:
            return SeenGateway(obj) if obj.metadata.spoken(MANAGER) else None
        verdict = next(iter(view.reports(self._all.verdicts, ("verdict", key)).values()), None)
        counts: Counts = next(iter(view.reports(self._all.counts, ("counts", key)).values()), {})
        return SeenGateway(obj, found, verdict, counts)

    def _set(self, view: View, one: ListenerSet, _results: Results) -> SeenGateway | None:
        told = self._told(view, one, gateway_key(one))
        if told is not None and told.view is not None:
            return told
        trouble = parent_trouble(view, one)
        return SeenGateway(one, trouble=trouble) if trouble else told

    def route_status(self, kind: type[Route]) -> Declaration:
        name = self._name
        return Controller(
            name=kind.RESOURCE.plural,
            kind=kind,
            optional=(kind,) if kind in OPTIONAL else (),
            sources=(self._all.attachments[kind.RESOURCE.kind], self._all.verdicts),
            observe=partial(self._route, self._all.attachments[kind.RESOURCE.kind]),
            desire=nothing,
            judge=lambda seen, _answers: judge_route(seen, name),
            announce=lambda seen, _answers: announce_route(seen),
            status=ByEntry(
                entries=Entries("parents", identity=lambda entry: entry.parent_ref),
                ours=lambda entry: entry.controller_name == name,
                fence=f"one.controllerName == '{name}'",
                conditions=(ROUTE_ACCEPTED, ROUTE_RESOLVED, PARTIALLY_INVALID),
            ),
        )

    def _route(self, reports: Collection[Any], view: View, route: Any, _results: Results) -> SeenRoute | None:
        kind = route.RESOURCE.kind
        attached = next(iter(view.reports(reports, (kind, route.key)).values()), ())
        missing = next(iter(view.reports(reports, ("missing", kind, route.key)).values()), ())
        invalid = next(iter(view.reports(reports, ("invalid", kind, route.key)).values()), ())
        objections = view.reports(self._all.verdicts, (kind, route.key))
        standing = (route.status.parents if route.status is not None else None) or ()
        foreign = sum(entry.controller_name != self._name for entry in standing)
        concerns = bool(attached) or foreign < len(standing)
        before = refusals(route, self._name)
        if before:  # few have such words, so few have to know whether their data plane has answered
            waiting = {one.parent for one in attached if not self._answered(view, one.gateway)}
            before = {parent: words for parent, words in before.items() if parent in waiting}
        return SeenRoute(route, attached, objections, missing, invalid, foreign, concerns, before)

    def _answered(self, view: View, gateway: Key) -> bool:
        verdicts: Mapping[Any, Verdict] = view.reports(self._all.verdicts, ("verdict", gateway))
        return any(verdict.state == "served" for verdict in verdicts.values())

    def policy_status(self, kind: type[Any], conditions: tuple[ConditionType, ...]) -> Declaration:
        name = self._name
        return Controller(
            name=f"gateway-{kind.RESOURCE.plural}",  # another family has a kind of the same name
            kind=kind,
            optional=(kind,),
            sources=(self._all.verdicts, self._all.traffic, self._all.tls),
            observe=self._policy,
            desire=nothing,
            judge=lambda seen, _answers: judge_policy(seen, name),
            announce=lambda seen, _answers: announce_policy(seen, name),
            status=ByEntry(
                entries=Entries("ancestors", identity=lambda entry: entry.ancestor_ref),
                ours=lambda entry: entry.controller_name == name,
                fence=f"one.controllerName == '{name}'",
                conditions=conditions,
            ),
        )

    def _policy(self, view: View, policy: Any, _results: Results) -> SeenPolicy | None:
        said = view.reports(self._all.verdicts, (policy.RESOURCE.kind, policy.key))
        read = self._all.traffic if isinstance(policy, TrafficPolicy) else self._all.tls
        missing = next(iter(view.reports(read, ("missing", policy.key)).values()), ())
        invalid = next(iter(view.reports(read, ("invalid", policy.key)).values()), ())
        return SeenPolicy(policy, said, missing, invalid)
