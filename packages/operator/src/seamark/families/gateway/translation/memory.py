"""What is remembered of a gateway's translation: the transition, which reads everything that it is made from.

- The same input is not translated again, and the same snapshot has the same number.
- Of the routes that did not change, what was built before is used again: a change costs what it affects.
- A policy that protects is remembered in its last valid form: that stays in effect while the policy is not valid.
- While only routes change, a gateway that the data plane has confirmed is still served.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from seamark.families.gateway.model.dependencies import Dependencies
from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.options import Options
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.translation.endpoints import endpoints
from seamark.families.gateway.translation.patternshares import beyond_share
from seamark.families.gateway.translation.policytable import PolicyTable
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
from seamark.families.gateway.translation.trafficpolicies import merge_traffic_policies
from seamark_edge.dataplane.protocol import Presence
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Call, Results
from seamark_runtime.source import Fresh
from seamark_runtime.view import View

ValidPolicies = Mapping[Key, TrafficPolicyView]


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
        attached = self._attached(view, gateway)
        table, valid = self._policies(view, gateway, attached, last.policies if last is not None else {})
        given, conditions = self._input(view, gateway, attached, table)
        translation = translated(last.translation if last is not None else None, given, conditions)
        response = results.to(current_call(translation, presence, self._dependencies.options))
        known = last.confirmed if last is not None else None
        return TranslationState(translation, presence, valid, confirmed(known, translation, presence, response))

    def _attached(self, view: View, gateway: GatewayView) -> list[AttachedRoute]:
        """The oldest first."""
        attached: list[AttachedRoute] = []
        for routes in self._dependencies.routes:
            attached += view.entries(routes.attached, gateway.key).values()
        return sorted(attached, key=lambda route: route.route.age)

    def _input(
        self, view: View, gateway: GatewayView, attached: list[AttachedRoute], table: PolicyTable
    ) -> tuple[TranslationInput, PolicyConditions]:
        policies, traffic_conditions = merge_traffic_policies(gateway, attached, table)
        beyond = beyond_share(gateway, attached, policies, self._dependencies.options.patterns)
        if beyond:
            attached = [route for route in attached if route.route.origin not in beyond]
            policies, traffic_conditions = merge_traffic_policies(gateway, attached, table)
        backends = used_backends(attached, policies).values()
        tls = merge_tls_policies(view, gateway, backends, self._dependencies.tls_policies)
        found = {backend: endpoints(view, backend).usable for backend in backends}
        given = TranslationInput(gateway, tuple(attached), found, tls.tls, policies, tls.sources, beyond, table)
        return given, PolicyConditions(tls.conditions, traffic_conditions)

    def _policies(
        self, view: View, gateway: GatewayView, attached: list[AttachedRoute], last: ValidPolicies
    ) -> tuple[PolicyTable, ValidPolicies]:
        """Policies are about objects of their own namespace: those of the gateway, its sets and its routes count.

        `last` are those that protect, in their last valid form; so is the second result.
        """
        namespaces = {gateway.key.namespace: None, **{key.namespace: None for key, _ in gateway.sets}}
        namespaces.update(dict.fromkeys(route.route.origin.namespace for route in attached))
        policies = self._dependencies.traffic_policies
        found, valid = [], {}
        for policy in (policy for name in namespaces for policy in view.entries(policies, name).values()):
            good = last.get(policy.key) if policy.problem else policy
            if good is not None and good.guards:
                valid[policy.key] = good
            found.append(policy.unusable(policy.problem, good) if policy.problem else policy)
        return PolicyTable(found), valid


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
