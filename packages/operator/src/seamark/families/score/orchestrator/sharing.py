"""A resource with an id is one resource for all Workloads of the namespace that name it so.

- Of several definitions the parameters and the metadata are equal, or left out. What is left out is that of the others.
- Where two differ, the Workload that came later is wrong: what the first one has is not changed by it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from seamark.api.score import Dependency, Workload
from seamark.families.score.model.identity import identity
from seamark.families.score.orchestrator.resolve import Waiting, Wrong
from seamark.families.score.orchestrator.state import Sharer
from seamark_runtime.api.meta import to_wire
from seamark_runtime.cache import Index


def identities(workload: Workload) -> Iterable[Hashable]:
    resources = (workload.spec.resources or {}).values()
    found = (identity(resource.type, resource.class_, resource.id) for resource in resources)
    return {(workload.metadata.namespace, each) for each in found if each is not None}


SHARERS = Index(Workload, identities, "workloads by the resources that they share")


def sharers(workloads: Iterable[Workload], resource: Dependency) -> list[Sharer]:
    """All definitions of the resource, the oldest first, without their claims."""
    wanted = identity(resource.type, resource.class_, resource.id)
    by_age = sorted(workloads, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name))
    return [
        Sharer(workload, key, each)
        for workload in by_age
        if not workload.deleting
        for key, each in sorted((workload.spec.resources or {}).items())
        if identity(each.type, each.class_, each.id) == wanted
    ]


def check_shared(workload: Workload, key: str, shared: Iterable[Sharer]) -> None:
    """Raises Wrong where an older definition of the same resource says otherwise."""
    own = (workload.spec.resources or {})[key]
    for sharer in shared:
        if (sharer.workload.uid, sharer.key) == (workload.uid, key):
            return
        for field in ("params", "metadata"):
            mine, first = getattr(own, field), getattr(sharer.resource, field)
            if mine is not None and first is not None and to_wire(mine) != to_wire(first):
                place = f"Workload {sharer.workload.metadata.name} (resources.{sharer.key}.{field})"
                raise Wrong(f"resources.{key}.{field}: they differ from those of {place}, which shares the id {own.id}")


def shared_metadata(resource: Dependency, shared: Iterable[Sharer]) -> Dependency:
    """With the metadata of the others where it has none."""
    if resource.metadata is not None:
        return resource
    return next((sharer.resource for sharer in shared if sharer.resource.metadata is not None), resource)


def shared_params(shared: Iterable[Sharer], key: str) -> Any:
    """The parameters that another definition gives, with its placeholders replaced there; None where none gives any."""
    giving = [sharer for sharer in shared if sharer.resource.params is not None]
    if not giving:
        return None
    claimed = next((sharer.claim for sharer in giving if sharer.claim is not None), None)
    if claimed is None:
        raise Waiting(key)
    return claimed.spec.params
