"""Which Domains were created for hosts of endpoints."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.hosts import host_of
from seamark.families.loadbalancer.model.names import CONTROLLER_NAME, OURS
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.ownership import Ownership


class ByHost(Ownership):
    """A Domain with our label belongs to the host that it names."""

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        if isinstance(child, Domain) and child.label(CONTROLLER_NAME) == OURS:
            yield Key(child.metadata.namespace, host_of(child))

    def claim(self, _owner: Object, child: Any) -> Any:
        labels = {**(child.metadata.labels or {}), CONTROLLER_NAME: OURS}
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))
