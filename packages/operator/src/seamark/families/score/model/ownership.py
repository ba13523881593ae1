"""Children that may outlive their owner: known by a label, and referred to only while they go with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import msgspec

from seamark_runtime.api.meta import Object
from seamark_runtime.ownership import ByReference, within

OWNER = "score.dev/owner-uid"
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
