"""Children that may outlive their owner: known by a label, and referred to only while they go with it.

What an owner has left behind, by its policy or because it was deleted with `--cascade=orphan`, is adopted by the next
owner of its name. What Kubernetes is about to collect is not: it refers to the former owner until it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

import msgspec

from seamark_runtime.api.meta import Object
from seamark_runtime.ownership import ByReference, within

OWNER = "score.dev/owner-uid"
POLICY = "score.dev/deprovision-policy"  # what happens to a resource that is not needed any more
DELETE: Final = "Delete"
RETAIN: Final = "Retain"
ORPHAN: Final = "Orphan"
POLICIES = (DELETE, RETAIN, ORPHAN)
PART_OF = {"app.kubernetes.io/part-of": "score"}  # on what the family creates of kinds that others create, too


class ByUid(ByReference):
    """A label has the owner's uid. The owner reference, by which Kubernetes collects, is left out if it `outlives`."""

    def __init__(self, outlives: Callable[[Any, Any], bool]) -> None:
        self._outlives = outlives

    def owners(self, child: Object) -> Iterable[Hashable]:
        if uid := child.label(OWNER):
            yield within(child, uid)

    def claim(self, owner: Object, child: Any) -> Any:
        labels = {**(child.metadata.labels or {}), **PART_OF, OWNER: owner.uid}
        labelled = msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))
        return labelled if self._outlives(owner, child) else super().claim(owner, labelled)

    def owns(self, owner: Object, child: Object) -> bool:
        return super().owns(owner, child) or self.left_behind(owner, child)

    def left_behind(self, owner: Object, child: Object) -> bool:
        """Whether a child that has the name of one of the owner's is of a former owner of this name, and stays."""
        marked = child.label(OWNER) and all(child.label(name) == value for name, value in PART_OF.items())
        return bool(marked) and not any(self.refers(owner, each) for each in child.metadata.owner_references or ())
