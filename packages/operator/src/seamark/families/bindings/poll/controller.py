"""The controller of the poll: what it remembers and observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.families.bindings.model.dependencies import SPACING, Dependencies
from seamark.families.bindings.model.endpoints import IN_NAMESPACE
from seamark.families.bindings.model.entries import Listing
from seamark.families.bindings.model.installation import Installed, installed
from seamark.families.bindings.poll.reconcile import assign, desire, gone_of, report, report_poll, targets_of
from seamark.families.bindings.poll.state import Assignment, Gone, Listed, Seen, Targets
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.clock import timestamp
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Timing
from seamark_runtime.memory import Remembered
from seamark_runtime.source import Fresh
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    memory: Remembered[Assignment] = Remembered(partial(remember, dependencies))
    return (
        CollectionController(
            name="binding-polls",
            keyed={KubernetesOperator: lambda operator: (operator.key,)},
            observe=partial(observe, dependencies, memory),
            desire=desire,
            outputs=(Output(dependencies.projections, report), Output(dependencies.polls, report_poll)),
            memory=memory,
            reads=Reads(
                scopes=dependencies.scopes,
                kinds=(BoundEndpoint,),
                indexes=(IN_NAMESPACE,),
                sources=(dependencies.edge.listings,),
            ),
            timing=Timing(spacing=SPACING),
        ),
    )


def remember(
    dependencies: Dependencies, before: Assignment | None, view: View, key: Key, _results: Results
) -> Assignment | None:
    """Ports for what is listed now; without a list the last assignment stays."""
    if key != dependencies.options.key:
        return None
    listing = current(dependencies, view)
    if not isinstance(listing, Listing):
        return before
    existing = [*view.by(IN_NAMESPACE, key.namespace, intent=True)]
    targets = targets_of(before, listing)
    kept = [endpoint for endpoint in existing if dependencies.projection.projected(endpoint) and not endpoint.deleting]
    moment = Gone(listing.at, timestamp(view.date))
    gone = gone_of(before, targets, kept, moment, dependencies.options.gone_grace)
    return assign(before, Listed(listing, targets, gone), existing, dependencies.options, view.now)


def current(dependencies: Dependencies, view: View) -> Listing | Installed:
    """The list; while it does not count, the state of the installation."""
    fact = view.fact(dependencies.edge.listings, dependencies.options.key)
    state = installed(view, dependencies.options)
    return fact.value if state is Installed.PRESENT and isinstance(fact, Fresh) else state


def observe(
    dependencies: Dependencies, memory: Remembered[Assignment], view: View, key: Key, _results: Results
) -> Seen | None:
    if key != dependencies.options.key:
        return None
    listing = current(dependencies, view)
    if listing is Installed.DELETING:
        return Seen(key, Targets({}), {})
    assignment = memory.get(key)
    if not isinstance(listing, Listing) or assignment is None:
        return Seen(key, None, {})
    for gone in assignment.gone.values():
        over = gone.since + dependencies.options.gone_grace
        view.requeue_at = min(view.requeue_at, max(over, view.now + dependencies.options.poll))
    return Seen(key, assignment.targets, assignment.ports.assigned, assignment.gone)
