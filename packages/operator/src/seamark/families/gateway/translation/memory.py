"""What is remembered of a gateway's translation: the transition, which reads everything that it is made from.

- The same input is not translated again, and the same snapshot has the same number.
- Of the routes that did not change, what was built before is used again: a change costs what it affects.
- While only routes change, a gateway that the data plane has confirmed is still served.
"""

from __future__ import annotations

from dataclasses import replace

from seamark.families.gateway.model.dependencies import Dependencies
from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.options import Options
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.translation.endpoints import endpoints
from seamark.families.gateway.translation.reconcile import confirmed
from seamark.families.gateway.translation.snapshot import translate, used_backends
from seamark.families.gateway.translation.state import (
    PolicyConditions,
    Program,
    Programmed,
    Translation,
    TranslationInput,
    TranslationState,
    program_call,
    remove_call,
)
from seamark.families.gateway.translation.tlspolicies import merge_tls_policies
from seamark.families.gateway.translation.trafficpolicies import PolicyTable, merge_traffic_policies
from seamark_edge.dataplane.protocol import Presence
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Call, Results
from seamark_runtime.source import Fresh
from seamark_runtime.view import View


class Translator:
    """The transition of one operator's translations. It has no state of its own."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def advance(self, last: TranslationState | None, view: View, key: Key, results: Results) -> TranslationState | None:
        gateway = view.entry(self._dependencies.gateways, key)
        fact = view.fact(self._dependencies.presence, key)
        presence = fact.value if isinstance(fact, Fresh) else None
        if gateway is None or not gateway.serves:
            if presence is None and last is None:  # nothing of it was ever started
                return None
            return None if isinstance(results.to(remove_call(key)), Fresh) else TranslationState(presence=presence)
        given, conditions = self._input(view, gateway)
        translation = translated(last.translation if last is not None else None, given, conditions)
        response = results.to(current_call(translation, presence, self._dependencies.options))
        known = last.confirmed if last is not None else None
        return TranslationState(translation, presence, confirmed(known, translation, presence, response))

    def _input(self, view: View, gateway: GatewayView) -> tuple[TranslationInput, PolicyConditions]:
        dependencies = self._dependencies
        attached: list[AttachedRoute] = []
        for routes in dependencies.routes:
            attached += view.entries(routes.attached, gateway.key).values()
        attached.sort(key=lambda route: route.route.age)
        backends = used_backends(attached).values()
        tls, tls_conditions = merge_tls_policies(view, gateway, backends, dependencies.tls_policies)
        table = self._traffic_policies(view, gateway, attached)
        policies, traffic_conditions = merge_traffic_policies(gateway, attached, table)
        given = TranslationInput(
            gateway, tuple(attached), {backend: endpoints(view, backend) for backend in backends}, tls, policies
        )
        return given, PolicyConditions(tls_conditions, traffic_conditions)

    def _traffic_policies(self, view: View, gateway: GatewayView, attached: list[AttachedRoute]) -> PolicyTable:
        """Policies are about objects of their own namespace: those of the gateway, its sets and its routes count."""
        namespaces = {gateway.key.namespace: None, **{key.namespace: None for key, _ in gateway.sets}}
        namespaces.update(dict.fromkeys(route.route.origin.namespace for route in attached))
        policies = self._dependencies.traffic_policies
        return PolicyTable(policy for name in namespaces for policy in view.entries(policies, name).values())


def translated(last: Translation | None, given: TranslationInput, conditions: PolicyConditions) -> Translation:
    if last is not None and last.input == given:
        return last if last.conditions == conditions else replace(last, conditions=conditions)
    made = translate(given, last.hosts if last is not None else {})
    number = 1 if last is None else last.number + (last.snapshot != made.snapshot)
    return Translation(given, made.snapshot, made.hosts, number, conditions)


def current_call(translation: Translation, presence: Presence | None, options: Options) -> Call[Programmed]:
    """An instance that connects later has to respond, too: the version counts their arrivals."""
    arrivals = max(1, presence.arrivals) if presence is not None else 1
    action = Program(
        translation.input.gateway.key,
        f"{translation.number} {arrivals}",
        translation.input,
        translation.snapshot,
        translation.hosts,
    )
    return program_call(action, options.verify, options.answer_within)
