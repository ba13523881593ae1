"""What the decision about a generated DNSEndpoint is made from, and how it is found again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.api.dns import DNSEndpoint, Endpoint
from seamark.families.dns.sources.kinds import SourceKind
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.ownership import MANAGED_BY, Ownership

MANAGER = "seamark-dns-names"


@dataclass(frozen=True)
class Seen:
    """An object with its names: the records that it wants now, and its DNSEndpoint so far."""

    source: SourceKind
    obj: Any
    wanted: tuple[Endpoint, ...]
    standing: DNSEndpoint | None
    named: bool  # whether it has names of our zones at all


@dataclass(frozen=True)
class ByOwner(Ownership):
    """Our label marks it as created by us, its owner reference names the object."""

    kind: str

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        if child.label(MANAGED_BY) == MANAGER:
            references = child.metadata.owner_references or ()
            yield from (
                Key(child.metadata.namespace, reference.name) for reference in references if reference.kind == self.kind
            )

    def claim(self, _owner: Object, child: Any) -> Any:
        labels = {**(child.metadata.labels or {}), MANAGED_BY: MANAGER}
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))
