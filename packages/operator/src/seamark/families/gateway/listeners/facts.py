"""What is known of a gateway, read for its own status and for that of its listener sets."""

from __future__ import annotations

from seamark.families.gateway.listeners.state import GatewayFacts
from seamark.families.gateway.model.dependencies import Dependencies
from seamark_runtime.api.meta import Key
from seamark_runtime.source import Source
from seamark_runtime.view import View


def sources(dependencies: Dependencies) -> tuple[Source, ...]:
    return (dependencies.gateways, dependencies.counts, dependencies.programmed)


def gateway_facts(view: View, key: Key, dependencies: Dependencies) -> GatewayFacts | None:
    """None: the gateway does not exist, or is not ours."""
    found = view.entry(dependencies.gateways, key)
    if found is None:
        return None
    counts = view.entry(dependencies.counts, key) or {}
    return GatewayFacts(found, view.entry(dependencies.programmed, key), counts)
