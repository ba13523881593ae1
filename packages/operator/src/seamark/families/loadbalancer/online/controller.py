"""The poll of the edge: what it reads, calls and publishes."""

from __future__ import annotations

from functools import partial

from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.entries import EDGE
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.online.memory import UNSETTLED
from seamark.families.loadbalancer.online.reconcile import desire, report_by_place, report_by_uid, report_poll
from seamark.families.loadbalancer.online.state import Seen
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Companion, Declaration, Output, Reads, Timing
from seamark_runtime.view import View


def _all(_obj: Object) -> tuple[Key, ...]:
    return (EDGE,)


AGENTS = Index(AgentEndpoint, _all, "all agent endpoints")
CLOUDS = Index(CloudEndpoint, _all, "all cloud endpoints")


def observe(options: Options, view: View, _key: Key, results: Results) -> Seen | None:
    """None without endpoints: then the edge is not polled."""
    agents, clouds = view.by(AGENTS, EDGE), view.by(CLOUDS, EDGE)
    return Seen(results, options.timing) if agents or clouds else None


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    edge = CollectionController(
        name="edge",
        keyed={AgentEndpoint: _all, CloudEndpoint: _all},
        observe=partial(observe, dependencies.options),
        desire=desire,
        memory=dependencies.awaited,
        perform=dependencies.perform,
        companions=(Companion(dependencies.connected),),
        outputs=(
            Output(dependencies.polls, report_poll),
            Output(dependencies.agents_by_uid, report_by_uid),
            Output(dependencies.agents_by_place, report_by_place),
        ),
        reads=Reads(indexes=(AGENTS, CLOUDS, UNSETTLED)),
        timing=Timing(spacing=dependencies.options.timing.spacing),
    )
    return (edge,)
