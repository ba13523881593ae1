"""The controller of BoundEndpoints: what it observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.families.bindings.boundendpoint.reconcile import desire, judge
from seamark.families.bindings.boundendpoint.state import CONDITIONS, Seen
from seamark.families.bindings.model.dependencies import LINGER, MANAGER, Dependencies
from seamark.families.bindings.model.endpoints import BY_PORT, GROUP_MEMBERS, belongs, group_of, members, port_holder
from seamark.families.bindings.model.entries import GroupReport
from seamark.families.bindings.model.installation import installed
from seamark.families.bindings.model.ownership import FINALIZER, FORMER_FINALIZER
from seamark.families.bindings.model.services import upstream_key
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.access import OwnRights, Right
from seamark_runtime.api.core import Service
from seamark_runtime.apply import left_to_others
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.source import Fresh
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    options = dependencies.options
    return (
        Controller(
            name="boundendpoints",
            kind=BoundEndpoint,
            observe=partial(observe, dependencies),
            desire=desire,
            judge=judge,
            status=ByManager(
                manager=MANAGER, conditions=CONDITIONS, fields=("target_service_ref", "upstream_service_ref")
            ),
            perform=dependencies.perform,
            memory=dependencies.verifications,
            collectors=(dependencies.verifications,),
            reads=Reads(
                scopes=dependencies.scopes,
                kinds=(KubernetesOperator,),
                indexes=(GROUP_MEMBERS, BY_PORT),
                sources=(dependencies.groups, dependencies.projections, OwnRights()),
            ),
            writes=Writes(
                children=(Service,),
                ownership=dependencies.upstream,
                finalizers=(FINALIZER, FORMER_FINALIZER),
            ),
            timing=Timing(shelf_life=options.shelf_life, linger=LINGER),
        ),
    )


def observe(dependencies: Dependencies, view: View, endpoint: BoundEndpoint, results: Results) -> Seen | None:
    options = dependencies.options
    if not belongs(endpoint, options):
        return None
    report = view.entries(dependencies.groups, endpoint.key).get(group_of(endpoint))
    service = view.get(Service, upstream_key(endpoint, options))
    projection = view.entry(dependencies.projections, endpoint.key)
    is_owned = service is not None and endpoint.key in dependencies.upstream.owners(service)
    return Seen(
        endpoint=endpoint,
        group=report,
        results=results,
        options=options,
        upstream=service if is_owned else None,
        installed=installed(view, options),
        gone=projection.gone if projection is not None else "",
        projected=dependencies.projection.projected(endpoint),
        port_held_by=port_holder(view, endpoint),
        target_left=endpoint.deleting and target_left(dependencies, view, endpoint),
        forbidden=forbidden(dependencies, view, endpoint, report),
    )


def target_left(dependencies: Dependencies, view: View, endpoint: BoundEndpoint) -> bool:
    """Whether the group's target must still be deleted, and all members of the group are being deleted."""
    group = group_of(endpoint)
    target = view.get(Service, group)
    if target is None or group not in dependencies.target.owners(target) or left_to_others(target, FINALIZER):
        return False
    return all(member.deleting for member in members(view, group, dependencies.options))


def forbidden(
    dependencies: Dependencies, view: View, endpoint: BoundEndpoint, report: GroupReport | None
) -> tuple[str, ...]:
    """Namespaces in which we may not create Services; reviewed only where the API server has refused one."""
    reviewed = []
    if report is not None and report.refusal is not None and report.refusal.reason == "Forbidden":
        reviewed.append(endpoint.spec.target.namespace)
    conditions = endpoint.status.conditions if endpoint.status is not None else ()
    if any(condition.reason == "UpstreamServiceCreationFailed" for condition in conditions):
        reviewed.append(dependencies.options.namespace)
    answers = {namespace: view.may(Right(namespace, "create", "services")) for namespace in reviewed}
    return tuple(name for name, fact in answers.items() if isinstance(fact, Fresh) and not fact.value)
