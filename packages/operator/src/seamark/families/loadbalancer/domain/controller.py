"""The wiring of Domains."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.domain.reconcile import desire, judge
from seamark.families.loadbalancer.domain.state import CONDITIONS, Seen
from seamark.families.loadbalancer.edge import Work
from seamark.families.loadbalancer.hosts import host_of
from seamark.families.loadbalancer.names import FINALIZER
from seamark.families.loadbalancer.places import Places, was_taken
from seamark.families.loadbalancer.service.state import Options
from seamark_edge.claims import wildcard_above
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
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


def controller(work: Work, places: Places, options: Options) -> Controller[Seen]:
    def observe(view: View, domain: Domain, results: Results) -> Seen | None:
        if options.drain and FINALIZER not in (domain.metadata.finalizers or ()):
            return None
        host, kept = host_of(domain), places.kept_from(view, domain)
        others = [one for one in view.by(BY_HOST, host) if one.uid == domain.uid or not places.kept_from(view, one)]
        rival = holder_for(domain, others, view.by(BY_HOST, wildcard_above(host)))
        return Seen(domain, results, options.cluster, work.timing, rival, options.drain, kept)

    return Controller(
        name="domains",
        kind=Domain,
        indexes=(BY_HOST,),
        sources=places.sources,
        observe=observe,
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-domains", conditions=CONDITIONS, fields=FIELDS),
        finalizer=FINALIZER,
        perform=work.perform,
        shelf_life=work.timing.shelf_life,
        linger=3.0,
    )


def holder_for(domain: Domain, same: Iterable[Domain], wildcards: Iterable[Domain]) -> Domain | None:
    """Another Domain that has the name of this one: one for the same name, or for the wildcard above. None if none has.

    A wildcard that the edge has reserved keeps the hosts below it, except those of its own namespace and those whose
    Domain the edge has reserved and that are older.
    """
    wildcard = holder(one for one in wildcards if reserved(one) and not one.deleting)
    if wildcard is not None and _kept_from(domain, wildcard):
        return wildcard
    first = holder(one for one in same if wildcard is None or not _kept_from(one, wildcard))
    return first if first is not None and first.uid != domain.uid else None


def holder(domains: Iterable[Domain]) -> Domain | None:
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
