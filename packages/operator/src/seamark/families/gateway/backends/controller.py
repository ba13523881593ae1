"""The used backends of each Service: probed, and reported for the routes that use them."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.gateway.backends.reconcile import desire, known, report
from seamark.families.gateway.backends.state import Seen
from seamark.families.gateway.model.dependencies import Dependencies
from seamark.families.gateway.model.routes import Backend, BackendHealth
from seamark.families.gateway.translation.endpoints import BY_SERVICE, endpoints
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.conditions import FALSE, UNKNOWN
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Timing
from seamark_runtime.memory import Remembered
from seamark_runtime.view import View

Known = Mapping[Backend, BackendHealth]
SPACING = 0.1  # seconds: many routes that share a Service are counted once in that time


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    # Envoys on this machine connect from where we do. Those elsewhere may get through where we do not.
    silence = FALSE if dependencies.options.cluster is None else UNKNOWN

    def look(view: View, key: Key, results: Results, last: Known) -> Seen | None:
        used = {
            backend
            for routes in dependencies.routes
            for backends in view.entries(routes.used, key).values()
            for backend in backends
        }
        if not used:
            return None
        found = {backend: endpoints(view, backend) for backend in sorted(used, key=lambda each: each.cluster)}
        usable = {backend: each.usable for backend, each in found.items()}
        forbidden = {backend: each.forbidden for backend, each in found.items() if each.forbidden}
        return Seen(key, usable, results, last, silence, forbidden)

    def transition(last: Known | None, view: View, key: Key, results: Results) -> Known | None:
        seen = look(view, key, results, last or {})
        return known(seen) if seen is not None else None

    memory: Remembered[Known] = Remembered(transition)

    def observe(view: View, key: Key, results: Results) -> Seen | None:
        return look(view, key, results, memory.get(key) or {})

    return (
        CollectionController(
            name="gateway-backends",
            keyed={},
            subjects=tuple(routes.used for routes in dependencies.routes),
            observe=observe,
            desire=desire,
            memory=memory,
            perform=dependencies.perform,
            outputs=(Output(dependencies.backend_health, report),),
            reads=Reads(
                kinds=(EndpointSlice,),
                indexes=(BY_SERVICE,),
                sources=tuple(routes.used for routes in dependencies.routes),
            ),
            timing=Timing(spacing=SPACING),
        ),
    )
