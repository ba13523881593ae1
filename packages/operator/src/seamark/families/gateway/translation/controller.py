"""The translation of each gateway: programmed into the data plane, and reported on."""

from __future__ import annotations

import asyncio

from seamark.families.gateway.model.dependencies import Dependencies
from seamark.families.gateway.model.results import RefusedObjects
from seamark.families.gateway.translation.endpoints import BY_SERVICE
from seamark.families.gateway.translation.memory import Translator, current_call
from seamark.families.gateway.translation.reconcile import (
    desire,
    programmed,
    report_programmed,
    report_refusals,
    report_tls,
    report_traffic,
    with_refusals,
)
from seamark.families.gateway.translation.state import Seen, TranslationState, remove_call
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Companion, Declaration, Output, Reads, Timing
from seamark_runtime.memory import Remembered
from seamark_runtime.source import Fresh
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    memory: Remembered[TranslationState] = Remembered(Translator(dependencies).advance)

    def observe(view: View, key: Key, results: Results) -> Seen | None:
        state = memory.get(key)
        if state is None:
            return None
        translation = state.translation
        if translation is None:
            return Seen(key, remove_call(key))
        call = current_call(translation, state.presence, dependencies.options)
        fact = view.fact(dependencies.refused, key)
        refused = fact.value if isinstance(fact, Fresh) else RefusedObjects()
        result, objects = programmed(state, translation, results.to(call), refused)
        conditions = with_refusals(translation.conditions, objects)
        return Seen(key, call, result, objects, conditions, translation.input.beyond)

    async def sweep() -> None:
        """Gateways that went while no operator ran have no key here: what serves them is removed by this alone."""
        while not dependencies.gateways.synced:  # noqa: ASYNC110  a term may end meanwhile
            await asyncio.sleep(1)
        await dependencies.retain(lambda gateway: bool(dependencies.gateways.entries(gateway)))

    data_plane = Companion(dependencies.run_data_plane, lasting=dependencies.lasting_data_plane)
    companions = (Companion(sweep), data_plane) if data_plane.lasting else (data_plane,)
    return (
        CollectionController(
            name="gateway-translations",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            observe=observe,
            desire=desire,
            memory=memory,
            perform=dependencies.perform,
            companions=companions,
            outputs=(
                Output(dependencies.programmed, report_programmed),
                Output(dependencies.refusals, report_refusals),
                Output(dependencies.policy_results.tls, report_tls),
                Output(dependencies.policy_results.traffic, report_traffic),
            ),
            reads=Reads(
                kinds=(EndpointSlice,),
                indexes=(BY_SERVICE,),
                sources=(
                    dependencies.gateways,
                    dependencies.tls_policies,
                    dependencies.traffic_policies,
                    dependencies.presence,
                    dependencies.refused,
                    *(routes.attached for routes in dependencies.routes),
                ),
            ),
            timing=Timing(spacing=dependencies.options.translating),
        ),
    )
