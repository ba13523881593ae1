"""The controller of the sweep: what it reads, remembers and calls.

The KubernetesOperators of one namespace are read, so registrations for others are never removed.
"""

from __future__ import annotations

from functools import partial

from seamark.families.bindings.model.dependencies import Dependencies
from seamark.families.bindings.sweep.reconcile import desire, listing
from seamark.families.bindings.sweep.state import Seen
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.model import Owner
from seamark_runtime.api.core import Namespace
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Reads, Timing
from seamark_runtime.memory import Remembered
from seamark_runtime.source import Fresh
from seamark_runtime.sweep import Unclaimed, due, looked, next_due
from seamark_runtime.view import View

EDGE = Key("", "edge")  # what the one request is about
SPACING = 10.0  # seconds


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    memory: Remembered[Unclaimed[Owner]] = Remembered(partial(remember, dependencies))
    sweep = CollectionController(
        name="registration-sweep",
        keyed={},
        always=(EDGE,),
        observe=partial(observe, dependencies, memory),
        desire=desire,
        memory=memory,
        perform=dependencies.perform,
        reads=Reads(kinds=(KubernetesOperator, Namespace), scopes=dependencies.scopes),
        timing=Timing(spacing=SPACING),
    )
    return (sweep,) if dependencies.options.sweep else ()


def remember(
    dependencies: Dependencies, before: Unclaimed[Owner] | None, view: View, _key: Key, results: Results
) -> Unclaimed[Owner]:
    """Since when each registration has no KubernetesOperator; without a listing nothing changes."""
    match results.to(listing(cluster_of(view))):
        case Fresh(value=found):
            here = [owner for owner in found if owner.namespace == dependencies.options.namespace]
            return looked(before, here, partial(exists, view), view.now)
    return before or {}


def observe(
    dependencies: Dependencies, memory: Remembered[Unclaimed[Owner]], view: View, key: Key, results: Results
) -> Seen | None:
    cluster, grace, unclaimed = cluster_of(view), dependencies.options.sweep, memory.get(key)
    if not cluster:
        return None
    view.requeue_at = min(view.requeue_at, next_due(unclaimed, grace, view.now))
    gone = tuple(owner for owner in due(unclaimed, grace, view.now) if not exists(view, owner))
    return Seen(results, cluster, gone)


def cluster_of(view: View) -> str:
    """By which a registration is known to be of this cluster: the uid of its oldest namespace."""
    found = view.intent(Namespace, Key("", "kube-system"))
    return found.uid if found is not None else ""


def exists(view: View, owner: Owner) -> bool:
    return view.exists(KubernetesOperator, Key(owner.namespace, owner.name), owner.uid)
