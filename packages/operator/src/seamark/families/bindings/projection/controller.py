"""The controllers of projections: one makes BoundEndpoints, one writes their endpoints into their status."""

from __future__ import annotations

from functools import partial

from seamark.families.bindings.model.dependencies import POLLER, Dependencies
from seamark.families.bindings.model.endpoints import belongs
from seamark.families.bindings.model.targets import target_of
from seamark.families.bindings.projection.reconcile import desire, desire_endpoints, judge_endpoints, report
from seamark.families.bindings.projection.state import Seen, SeenEndpoints
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Controller, Declaration, Output, Reads, Writes
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        CollectionController(
            name="binding-projections",
            keyed={BoundEndpoint: partial(keys, dependencies)},
            subjects=(dependencies.projections,),
            observe=partial(observe, dependencies),
            desire=desire,
            outputs=(Output(dependencies.refusals, report),),
            reads=Reads(scopes=dependencies.scopes, sources=(dependencies.polls,)),
            writes=Writes(children=(BoundEndpoint,), ownership=dependencies.projection),
        ),
        Controller(
            name="binding-endpoints",
            kind=BoundEndpoint,
            observe=partial(observe_endpoints, dependencies),
            desire=desire_endpoints,
            judge=judge_endpoints,
            status=ByManager(manager=POLLER, conditions=(), fields=("endpoints", "endpoints_summary", "hashed_name")),
            reads=Reads(scopes=dependencies.scopes, sources=(dependencies.projections, dependencies.polls)),
        ),
    )


def keys(dependencies: Dependencies, endpoint: BoundEndpoint) -> tuple[Key, ...]:
    return (endpoint.key,) if dependencies.projection.projected(endpoint) else ()


def observe(dependencies: Dependencies, view: View, key: Key, _results: Results) -> Seen | None:
    installation = dependencies.options.key
    poll = view.entry(dependencies.polls, installation)
    projection = view.entry(dependencies.projections, key)
    existing = view.intent(BoundEndpoint, key)
    if poll is None or not poll.known:
        return None
    return Seen(key, installation, projection, existing)


def observe_endpoints(
    dependencies: Dependencies, view: View, endpoint: BoundEndpoint, _results: Results
) -> SeenEndpoints | None:
    if not belongs(endpoint, dependencies.options) or endpoint.deleting:
        return None
    poll = view.entry(dependencies.polls, dependencies.options.key)
    name = Key(endpoint.metadata.namespace, target_of(endpoint.spec).name)
    projection = view.entry(dependencies.projections, name)
    if poll is None or not poll.known:
        return None
    listed = projection.endpoints if projection is not None else ()
    if projection is None and dependencies.projection.projected(endpoint):
        return None  # it is about to be deleted
    return SeenEndpoints(endpoint, listed)
