"""The controller of Domains: what it reads and calls, and which of several Domains has a name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.domain.reconcile import desire, judge
from seamark.families.loadbalancer.domain.state import CONDITIONS, Seen
from seamark.families.loadbalancer.model.clusters import ONLY_OLDEST, cluster_uid
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.hosts import host_of
from seamark.families.loadbalancer.model.names import FINALIZER
from seamark.families.loadbalancer.model.places import kept_from, sources, was_taken
from seamark_edge.claims import wildcard_above
from seamark_runtime.api.core import Namespace
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

FIELDS = (
    "id",
    "domain",
    "resolves_to",
    "cname_target",
    "acme_challenge_cname_target",
    "certificate",
    "certificate_management_policy",
    "certificate_management_status",
)
BY_HOST: Index[Domain] = Index(Domain, lambda domain: (host_of(domain),), "domains by host, of all namespaces")


def observe(dependencies: Dependencies, view: View, domain: Domain, results: Results) -> Seen | None:
    options = dependencies.options
    if options.drain and FINALIZER not in (domain.metadata.finalizers or ()):
        return None
    host, kept = host_of(domain), kept_from(dependencies, view, domain)
    candidates = [
        other for other in view.by(BY_HOST, host) if other.uid == domain.uid or not kept_from(dependencies, view, other)
    ]
    holder = holder_for(domain, candidates, view.by(BY_HOST, wildcard_above(host)))
    return Seen(domain, results, options, holder, dependencies.reachable, cluster_uid(view), kept)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    domains = Controller(
        name="domains",
        kind=Domain,
        observe=partial(observe, dependencies),
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-domains", conditions=CONDITIONS, fields=FIELDS),
        perform=dependencies.perform,
        reads=Reads(kinds=(Namespace,), scopes=ONLY_OLDEST, indexes=(BY_HOST,), sources=sources(dependencies)),
        writes=Writes(finalizers=(FINALIZER,)),
        timing=Timing(shelf_life=dependencies.options.timing.shelf_life, linger=3.0),
    )
    return (domains,)


def holder_for(domain: Domain, same: Iterable[Domain], wildcards: Iterable[Domain]) -> Domain | None:
    """The Domain that has the name of this one: for the same name, or for the wildcard above; None if no other has it.

    A wildcard that the edge has reserved keeps the hosts below it, except those of its own namespace and those whose
    Domain the edge has reserved and that are older.
    """
    wildcard = first_of(above for above in wildcards if reserved(above) and not above.deleting)
    if wildcard is not None and _kept_from(domain, wildcard):
        return wildcard
    first = first_of(other for other in same if wildcard is None or not _kept_from(other, wildcard))
    return first if first is not None and first.uid != domain.uid else None


def first_of(domains: Iterable[Domain]) -> Domain | None:
    """The Domain that has the name at the edge; if none has it, the oldest that was not refused."""
    return min(domains, key=_rank, default=None)


def reserved(domain: Domain) -> bool:
    return domain.status is not None and bool(domain.status.id)


def _kept_from(domain: Domain, wildcard: Domain) -> bool:
    return domain.metadata.namespace != wildcard.metadata.namespace and _rank(wildcard) < _rank(domain)


def _rank(domain: Domain) -> tuple[bool, bool, str, str, str]:
    """As claims on places are ordered (`seamark_edge.claims`)."""
    meta = domain.metadata
    return not reserved(domain), was_taken(domain), meta.creation_timestamp or "", meta.namespace, domain.uid
