"""WorkloadPlan → the objects that run it, and whether the API server took them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.score.model.identity import SHARED
from seamark.families.score.model.ownership import ORPHAN, POLICY, RETAIN
from seamark.families.score.model.runtime import Rendered
from seamark.families.score.rendering.render import render
from seamark.families.score.rendering.state import Seen
from seamark_runtime.api.apps import PersistentVolumeClaim
from seamark_runtime.api.meta import Key, ManagedMeta, Object
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: Seen) -> Wanted:
    rendered = render(seen.plan, seen.values) if seen.values is not None else {}
    return Wanted(children={**rendered, **kept(seen, rendered)})


def kept(seen: Seen, rendered: Mapping[str, Object]) -> dict[str, Object]:
    """Volumes that are not rendered any more and stay, unchanged: by their policy, or as another runtime has the plan.

    Which volumes a Workload needs is not decided by the choice of its runtime: until the plan is gone, none is deleted.
    """
    names = {child.metadata.name for child in rendered.values() if isinstance(child, PersistentVolumeClaim)}
    unused = (volume for volume in seen.volumes if volume.metadata.name not in names and not volume.deleting)
    staying = (volume for volume in unused if seen.values is None or outlives(volume) or used_by_others(seen, volume))
    return {f"kept volume {volume.metadata.name}": kept_volume(seen, volume) for volume in staying}


def outlives(volume: PersistentVolumeClaim) -> bool:
    return volume.label(POLICY) in (RETAIN, ORPHAN)


def used_by_others(seen: Seen, volume: PersistentVolumeClaim) -> bool:
    """A shared one belongs to other plans, too."""
    references = volume.metadata.owner_references or ()
    return bool(volume.label(SHARED)) and any(each.name != seen.plan.metadata.name for each in references)


def kept_volume(seen: Seen, volume: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """As it is; of a shared one that this plan does not have any more, only the plan's own reference goes."""
    live = volume.metadata
    released = seen.values is not None and bool(volume.label(SHARED))
    meta = ManagedMeta(
        name=live.name,
        namespace=live.namespace,
        labels={SHARED: volume.label(SHARED)} if volume.label(SHARED) else None,
        owner_references=None if released else live.owner_references,
    )
    return PersistentVolumeClaim(metadata=meta, spec=volume.spec)


def report(seen: Seen, answers: Answers) -> Mapping[Key, Rendered]:
    refused = {role: refusal.message for role, refusal in answers.refusals.items()}
    return {seen.plan.key: Rendered(seen.plan.spec.observed_workload_generation, refused)}
