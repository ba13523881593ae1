"""The wiring of Domains."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.ngrokingress import Domain
from seamark.core.cache import Index
from seamark.core.calls import Results
from seamark.core.controller import Controller
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.families.loadbalancer.domain.reconcile import desire, judge
from seamark.families.loadbalancer.domain.state import CONDITIONS, Seen
from seamark.families.loadbalancer.edge import Work
from seamark.families.loadbalancer.hosts import host_of
from seamark.families.loadbalancer.names import FINALIZER
from seamark.families.loadbalancer.service.state import Options

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


def controller(work: Work, options: Options) -> Controller[Seen]:
    def observe(view: View, domain: Domain, results: Results) -> Seen | None:
        if options.drain and FINALIZER not in (domain.metadata.finalizers or ()):
            return None
        first = holder(view.by(BY_HOST, host_of(domain)))
        rival = first if first is not None and first.uid != domain.uid else None
        return Seen(domain, results, options.cluster, work.timing, rival, options.drain)

    return Controller(
        name="domains",
        kind=Domain,
        indexes=(BY_HOST,),
        observe=observe,
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-domains", conditions=CONDITIONS, fields=FIELDS),
        finalizer=FINALIZER,
        perform=work.perform,
        shelf_life=work.timing.shelf_life,
        linger=3.0,
    )


def holder(domains: Iterable[Domain]) -> Domain | None:
    """Whoever has the name at the edge; among those who have not, the oldest."""
    return min(domains, key=_rank, default=None)


def _rank(domain: Domain) -> tuple[bool, str, str]:
    has_it = domain.status is not None and bool(domain.status.id)
    return not has_it, domain.metadata.creation_timestamp or "", domain.uid
