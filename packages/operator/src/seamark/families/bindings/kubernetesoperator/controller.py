"""The controller of the KubernetesOperator: what it observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.families.bindings.kubernetesoperator.memory import InstallationMemory, attempts, read, usable
from seamark.families.bindings.kubernetesoperator.reconcile import announce, desire, judge
from seamark.families.bindings.kubernetesoperator.state import CONDITIONS, FINALIZER, Seen
from seamark.families.bindings.model.dependencies import LINGER, MANAGER, SPACING, Dependencies
from seamark.families.bindings.model.endpoints import IN_NAMESPACE
from seamark.families.bindings.model.installation import Installed, installed
from seamark.families.bindings.model.ownership import FINALIZER as ENDPOINT_FINALIZER
from seamark.families.bindings.model.ownership import FORMER_FINALIZER
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.core import Namespace, Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    memory = InstallationMemory(dependencies)
    return (
        Controller(
            name="kubernetesoperators",
            kind=KubernetesOperator,
            observe=partial(observe, dependencies, memory),
            desire=desire,
            judge=judge,
            announce=announce,
            status=ByManager(
                manager=MANAGER,
                conditions=CONDITIONS,
                fields=("id", "uri", "enabled_features", "bindings_ingress_endpoint", "drain_total", "drain_done"),
            ),
            perform=dependencies.perform,
            memory=memory,
            reads=Reads(
                scopes=dependencies.scopes,
                kinds=(Namespace, BoundEndpoint),
                indexes=(IN_NAMESPACE,),
                sources=(dependencies.edge.attempts, dependencies.polls, dependencies.refusals),
            ),
            writes=Writes(kept=(Secret,), finalizers=(FINALIZER, FORMER_FINALIZER)),
            timing=Timing(spacing=SPACING, shelf_life=3 * dependencies.options.poll + 60, linger=LINGER),
        ),
    )


def observe(
    dependencies: Dependencies,
    memory: InstallationMemory,
    view: View,
    operator: KubernetesOperator,
    results: Results,
) -> Seen | None:
    remembered = memory.get(operator.key)
    if remembered is None:
        return None
    system = view.intent(Namespace, Key("", "kube-system"))
    certificate = usable(read(dependencies, view, operator), remembered)
    if certificate.held is not None:
        view.requeue_at = min(view.requeue_at, view.now + certificate.held.again)
    poll = view.entry(dependencies.polls, operator.key)
    refusals = view.entries(dependencies.refusals, operator.key)
    return Seen(
        operator=operator,
        cluster=system.uid if system is not None else "",
        certificate=certificate.held,
        secret_trouble=certificate.trouble,
        attempt=attempts(dependencies, view, operator.key),
        results=results,
        options=dependencies.options,
        left=endpoints_left(dependencies, view) if operator.deleting else 0,
        problems=(*(poll.problems if poll is not None else ()), *sorted(refusals.values())),
        announced=remembered.announced,
        reachable=dependencies.reachable,
    )


def endpoints_left(dependencies: Dependencies, view: View) -> int:
    """BoundEndpoints that are deleted with the installation and still exist, and others with our finalizer."""
    retaining = installed(view, dependencies.options) is Installed.RETAINING
    return sum(
        (dependencies.projection.projected(endpoint) and not retaining)
        or ENDPOINT_FINALIZER in (endpoint.metadata.finalizers or ())
        for endpoint in view.by(IN_NAMESPACE, dependencies.options.namespace)
    )
