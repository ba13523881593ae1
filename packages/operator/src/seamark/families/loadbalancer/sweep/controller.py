"""The controller of the sweep: what it reads, remembers and calls."""

from __future__ import annotations

from functools import partial

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.clusters import ONLY_OLDEST
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.entries import EDGE
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.sweep.memory import Sweeping, exists, list_owned
from seamark.families.loadbalancer.sweep.reconcile import desire
from seamark.families.loadbalancer.sweep.state import Seen
from seamark_edge.api.ngrok import CloudEndpoint
from seamark_runtime.api.core import Namespace, Service
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Reads, Timing
from seamark_runtime.sweep import due, next_due
from seamark_runtime.view import View

SPACING = 10.0  # seconds: each look reads as many objects as there are owners


def observe(options: Options, memory: Sweeping, view: View, _key: Key, results: Results) -> Seen | None:
    """None where nothing is swept, and before an uninstall, when other rules decide what is removed."""
    if not options.sweep or options.drain:
        return None
    action = list_owned(options, view)
    if action is None:
        return None
    view.requeue_at = min(view.requeue_at, next_due(memory.unclaimed, options.sweep, view.now))
    found = due(memory.unclaimed, options.sweep, view.now)
    gone = tuple(owned for owned in found if not exists(view, owned))
    return Seen(results, options.timing, action, gone)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    memory = Sweeping(dependencies.options)
    sweep = CollectionController(
        name="sweep",
        keyed={},
        always=(EDGE,),
        observe=partial(observe, dependencies.options, memory),
        desire=desire,
        memory=memory,
        perform=dependencies.perform,
        reads=Reads(kinds=(Service, CloudEndpoint, Domain, Namespace), scopes=ONLY_OLDEST),
        timing=Timing(spacing=SPACING),
    )
    return (sweep,) if dependencies.options.sweep else ()
