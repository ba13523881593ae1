"""The controller of the zones: objects → desired records → zones → entries about objects."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.dnssources import AddressedNode
from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.entries import zone_key
from seamark.families.dns.sources.kinds import SourceKind
from seamark.families.dns.zone.memory import ZoneMemory
from seamark.families.dns.zone.reconcile import desire, report
from seamark.families.dns.zone.state import SeenZone
from seamark_runtime.api.gateway import Gateway, ListenerSet
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Results
from seamark_runtime.controller import ChangedOutput, CollectionController, Declaration, Reads, Timing
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    memory = ZoneMemory(dependencies)
    indexes, responses, options = dependencies.indexes, dependencies.responses, dependencies.options

    def observe(view: View, key: Key, _results: Results) -> SeenZone:
        view.requeue_at = min(view.requeue_at, memory.requeue_at(key))
        return memory.seen(key)

    controller = CollectionController(
        name="dnszones",
        keyed=indexes.keys(),
        always=tuple(map(zone_key, options.rules.zones)),
        observe=observe,
        desire=desire,
        memory=memory,
        perform=dependencies.perform,
        collectors=dependencies.metrics.collectors,
        outputs=(ChangedOutput(dependencies.reports, report),),
        reads=Reads(
            kinds=(AddressedNode,) if indexes.reads_nodes else (),
            optional=_optional_kinds(indexes.others),
            indexes=indexes.declared,
            sources=(responses.contents, responses.refusals, responses.adjustments, responses.queried),
        ),
        timing=Timing(spacing=options.intervals.spacing),
    )
    return (controller,)


def _optional_kinds(sources: Iterable[SourceKind]) -> tuple[type[Object], ...]:
    """Those of the Gateway API that are read, with the parents of routes: it may not be installed."""
    found: list[type[Object]] = [source.kind for source in sources if source.kind.RESOURCE.group == GATEWAY]
    return tuple(dict.fromkeys([*found, Gateway, ListenerSet])) if found else ()
