"""The status of a ListenerSet."""

from __future__ import annotations

from seamark.families.gateway.listeners.facts import gateway_facts, sources
from seamark.families.gateway.listenerset.reconcile import announce, judge
from seamark.families.gateway.listenerset.state import SET_ACCEPTED, SET_PROGRAMMED, Seen
from seamark.families.gateway.model.dependencies import Dependencies, nothing_desired
from seamark.families.gateway.model.names import MANAGER
from seamark.families.gateway.values import limits
from seamark.gatewayapi.listeners import gateway_key
from seamark.gatewayapi.references import invalid_reference
from seamark_runtime.api.gateway import GROUP, Gateway, ListenerSet
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, guarded
from seamark_runtime.status import ByManager, Entries
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    def observe(view: View, listener_set: ListenerSet, _results: Results) -> Seen | None:
        """Without a gateway of ours, our conditions are removed."""
        key = gateway_key(listener_set)
        facts = gateway_facts(view, key, dependencies) if key is not None else None
        if facts is not None:
            return Seen(listener_set, facts)
        problem = parent_problem(view, listener_set)
        return Seen(listener_set, problem=problem) if problem or listener_set.metadata.has_status_of(MANAGER) else None

    status = Controller(
        name="listenersets",
        kind=ListenerSet,
        observe=observe,
        desire=nothing_desired,
        judge=judge,
        announce=announce,
        status=ByManager(
            manager=MANAGER,
            conditions=(SET_ACCEPTED, SET_PROGRAMMED),
            fields=("listeners",),
            entries=Entries("listeners", identity=lambda listener: listener.name),
            policy_condition=None,  # its controller is that of its gateway
        ),
        reads=Reads(optional=(ListenerSet,), sources=sources(dependencies), kinds=(Gateway,)),
    )
    return guarded(dependencies.competing, status)


def parent_problem(view: View, listener_set: ListenerSet) -> str:
    """Why a listener set has no gateway at all; empty for one of another controller."""
    ref, key = listener_set.spec.parent_ref, gateway_key(listener_set)
    if key is None:
        return f"spec.parentRef: {limits.shown(ref.kind or '')} can't be a parent; use a Gateway of {GROUP}"
    if invalid := invalid_reference("spec.parentRef", ref.name, ref.namespace):
        return invalid
    return "" if view.intent(Gateway, key) is not None else f"Gateway {ref.name} does not exist"
