"""The Domains of endpoints: one for each host of a namespace, for all of its endpoints.

- A Domain that a user has made for the host is used as it is. Otherwise one is created, and deleted with the last
  endpoint.
- What is found is a report about the host; endpoints judge from it, and from the Domain's own status.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.api.ngrokingress import Domain, DomainSpec
from seamark.families.loadbalancer.names import CONTROLLER_NAME, FINALIZER, domain_name
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.urls import readable
from seamark_runtime.api.meta import Key, Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Wanted
from seamark_runtime.source import Collection
from seamark_runtime.view import View

DOMAIN = "domain"  # the role of the one child
OURS = "seamark"


class ByHost:
    """Our label and the host itself tell whose a Domain is."""

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        if isinstance(child, Domain) and child.label(CONTROLLER_NAME) == OURS:
            yield Key(child.metadata.namespace, host_of(child))

    def claim(self, _owner: Object, child: Any) -> Any:
        labels = {**(child.metadata.labels or {}), CONTROLLER_NAME: OURS}
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))


@dataclass(frozen=True, slots=True)
class HostReport:
    """The Domain of a host, or why there is none."""

    name: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    key: Key  # namespace and host
    theirs: Domain | None  # a Domain for this host that a user has made
    wanted: bool


def host_of(domain: Domain) -> str:
    return domain.spec.domain.lower().rstrip(".")


def named_host(obj: AgentEndpoint | CloudEndpoint) -> str:
    """The host that this endpoint needs a Domain for; "" for none."""
    found = readable(obj.spec.url)
    if found is None or not found.named or (obj.spec.bindings or ("public",))[0] != "public":
        return ""
    return found.host


def keys_of(obj: Any) -> tuple[Key, ...]:
    host = "" if obj.deleting else named_host(obj)
    return (Key(obj.metadata.namespace, host),) if host else ()


def desire(seen: Seen) -> Wanted:
    if seen.theirs is not None or not seen.wanted:
        return Wanted()
    namespace, host = seen.key
    metadata = ObjectMeta(name=domain_name(host), namespace=namespace, finalizers=(FINALIZER,))
    return Wanted(children={DOMAIN: Domain(metadata=metadata, spec=DomainSpec(domain=host))})


def report(seen: Seen, answers: Answers) -> Mapping[Hashable, HostReport]:
    if seen.theirs is not None:
        return {seen.key: HostReport(seen.theirs.metadata.name)}
    if not seen.wanted:
        return {}
    if refusal := answers.refusal(DOMAIN):
        return {seen.key: HostReport(refusal=refusal.message)}
    ref = answers.ref(DOMAIN)
    return {seen.key: HostReport(ref.name)} if ref else {}


class Hosts:
    """The group, and what endpoints read of it."""

    def __init__(self, *, drained: bool = False) -> None:
        self._drained = drained
        self.reports: Collection[HostReport] = Collection("domains of hosts")
        self._agents = Index(AgentEndpoint, keys_of, "agent endpoints of a host")
        self._clouds = Index(CloudEndpoint, keys_of, "cloud endpoints of a host")
        self._domains = Index(Domain, _key_of_domain, "domains of a host")

    def of(self, view: View, namespace: str, host: str) -> HostReport | None:
        key = Key(namespace, host)
        return view.reports(self.reports, key).get(key)

    def _observe(self, view: View, key: Key, _results: Results) -> Seen | None:
        if self._drained:
            return None  # Domains are neither created nor removed: each is released as it is
        wanted = bool(view.by(self._agents, key) or view.by(self._clouds, key))
        theirs = [domain for domain in view.by(self._domains, key) if domain.label(CONTROLLER_NAME) != OURS]
        standing = [domain for domain in theirs if not domain.deleting]
        return Seen(key, standing[0] if standing else None, wanted)

    def group(self) -> CollectionController[Any]:
        return CollectionController(
            name="hosts",
            keyed={AgentEndpoint: keys_of, CloudEndpoint: keys_of, Domain: _ours},
            indexes=(self._agents, self._clouds, self._domains),
            children=(Domain,),
            ownership=ByHost(),
            observe=self._observe,
            desire=desire,
            report=report,
            reports=self.reports,
        )


def _key_of_domain(domain: Domain) -> tuple[Key, ...]:
    return (Key(domain.metadata.namespace, host_of(domain)),)


def _ours(domain: Domain) -> tuple[Key, ...]:
    """After a restart, Domains that were made for endpoints which have gone meanwhile are looked at, too."""
    return _key_of_domain(domain) if domain.label(CONTROLLER_NAME) == OURS else ()
