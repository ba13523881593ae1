"""Service → its addresses and endpoints, and its status. No client, no clock: the same facts give the same result."""

from __future__ import annotations

from dataclasses import replace

from seamark.families.loadbalancer.model.names import COMPUTED_URL, COMPUTED_URLS
from seamark.families.loadbalancer.service.accepted import accepted_as, with_undeleted
from seamark.families.loadbalancer.service.addresses import ingress_of, published
from seamark.families.loadbalancer.service.assigned import assigned_as
from seamark.families.loadbalancer.service.calls import calls, find, fixed_address, found, keep, marked, placed
from seamark.families.loadbalancer.service.children import as_it_is, endpoints, live
from seamark.families.loadbalancer.service.exposure import Mistake, annotations_for
from seamark.families.loadbalancer.service.reachable import reachable_as
from seamark.families.loadbalancer.service.state import ACCEPTED, ASSIGNED, REACHABLE, Seen
from seamark_runtime.api.core import LoadBalancerStatus, ServiceStatus
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh

ANNOTATIONS = (COMPUTED_URL, COMPUTED_URLS)


def desire(seen: Seen) -> Wanted:
    exposure = seen.exposure
    if exposure is None:
        return leaving(seen)
    if isinstance(exposure, Mistake) or seen.holder is not None:
        return standing(seen)
    if fixed_address(exposure) and found(seen, exposure) is not True:
        return standing(seen, find(seen, exposure))
    places = placed(seen, exposure)
    return Wanted(
        children=endpoints(seen, exposure, places),
        calls=calls(seen, exposure),
        annotations=annotations_for(places, exposure),
        finalizer=True,
    )


def standing(seen: Seen, *lookups: Call[bool]) -> Wanted:
    """Existing endpoints are kept unchanged."""
    return Wanted(
        children={name: as_it_is(child) for name, child in live(seen).items() if not child.deleting},
        calls=lookups,
        annotations=remembered(seen),
        finalizer=marked(seen),
    )


def leaving(seen: Seen) -> Wanted:
    """Endpoints are deleted first, then reservations; only then our finalizer is removed."""
    if not marked(seen):
        return Wanted()
    if seen.options.drain == "Retain" and not seen.service.deleting:
        return replace(standing(seen), finalizer=False)  # all stays as it is, here and at the edge
    if live(seen):
        return Wanted(annotations=remembered(seen), finalizer=True)
    if not isinstance(seen.results.to(keep(seen, ())), Fresh):
        return Wanted(calls=(keep(seen, ()),), annotations=remembered(seen), finalizer=True)
    return Wanted(calls=(keep(seen, ()),))


def remembered(seen: Seen) -> dict[str, str]:
    return {name: text for name in ANNOTATIONS if (text := seen.service.annotation(name))}


def judge(seen: Seen, answers: Answers) -> ServiceStatus:
    exposure = seen.exposure
    if exposure is None:
        retained = seen.options.drain == "Retain"
        return releasing(seen, answers) if seen.service.deleting or retained else ServiceStatus(conditions=())
    accepted = accepted_as(seen, exposure, answers)
    # Without a change the running endpoint stays, and so does its condition.
    if isinstance(exposure, Mistake) or seen.holder is not None:
        ingress = published(seen.service)
    else:
        ingress = ingress_of(seen, exposure)
    assigned = assigned_as(seen, exposure, accepted, ingress)
    reachable = reachable_as(seen, accepted, assigned, ingress)
    load_balancer = LoadBalancerStatus(ingress=ingress or None)
    conditions = (with_undeleted(accepted, answers), assigned, reachable)
    return ServiceStatus(conditions=conditions, load_balancer=load_balancer)


def releasing(seen: Seen, answers: Answers) -> ServiceStatus:
    """Shown only while it lasts: why an endpoint still exists, or why the edge does not release it."""
    before = seen.service.status or ServiceStatus(conditions=())
    kept = [condition for condition in before.conditions or () if condition.type == ACCEPTED.name]
    cause = answers.undeleted[0].message if answers.undeleted else ""
    match seen.results.to(keep(seen, ())):
        case Failed(message=message):
            cause = cause or f"The edge does not release it: {message}"
    if cause:
        assigned = ASSIGNED.unknown("Releasing", cause)
        going = REACHABLE.unknown("Pending", "The Service is being released")
        return ServiceStatus(conditions=(*kept, assigned, going), load_balancer=before.load_balancer)
    names = (ACCEPTED.name, ASSIGNED.name, REACHABLE.name)
    ours = tuple(condition for condition in before.conditions or () if condition.type in names)
    return ServiceStatus(conditions=ours, load_balancer=before.load_balancer)
