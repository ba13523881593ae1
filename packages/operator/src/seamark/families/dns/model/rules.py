"""What a deployment has decided: which records are served here, under which ownership, and what may be done to them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from seamark.families.dns.model.selector import Selector
from seamark.providers.dns.domains import Domains
from seamark.providers.dns.txt import Names, Values


class Policy(enum.StrEnum):
    SYNC = "sync"
    UPSERT_ONLY = "upsert-only"  # nothing is deleted
    CREATE_ONLY = "create-only"  # nothing is changed or deleted


@dataclass(frozen=True)
class Rules:
    """Everything that decides about records, apart from the records."""

    zones: tuple[str, ...]
    owner: str = "default"
    formerly: tuple[str, ...] = ()  # owners whose records become ours
    registry: str = "txt"  # or noop
    names: Names = field(default_factory=Names)
    values: Values = field(default_factory=Values)
    policy: Policy = Policy.SYNC
    types: frozenset[str] = frozenset(("A", "AAAA", "CNAME"))
    domains: Domains = field(default_factory=Domains)
    labels: Selector = field(default_factory=Selector)
    annotations: Selector = field(default_factory=Selector)
    namespace: str = ""
    sources: frozenset[str] = frozenset(("crd",))
    objects: frozenset[str] = frozenset()  # sources whose names become DNSEndpoints of their own
    min_ttl: int = 0
    set_identifiers: bool = False
    update_status: bool = True
    shared_names: bool = False  # objects of several namespaces may have records at one name
    hold: float = 600.0  # seconds for which a name stays its namespace's after the last object there is gone
    sweep_grace: float = 0.0  # seconds for which records stay whose object is gone without a deletion
    create_ptr: bool = False  # a PTR record for each address of a Service, Ingress, Gateway or route
    empty_deletes: bool = False  # also of a source that never had an object, leftovers are deleted

    def ours(self, owner: str) -> bool:
        return owner == self.owner or owner in self.formerly

    @property
    def finalizing(self) -> bool:
        """Whether the records of a deleted object are removed before the object itself."""
        return self.policy is Policy.SYNC
