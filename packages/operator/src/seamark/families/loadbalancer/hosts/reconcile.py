"""A host of endpoints → its Domain.

- A Domain that a user has made for the host is used as it is. Otherwise one is created, and deleted with the last
  endpoint.
- The entry about the host has its name; endpoints judge from it, and from the Domain's own status.
"""

from __future__ import annotations

from collections.abc import Mapping

from seamark.api.ngrokingress import Domain, DomainSpec
from seamark.families.loadbalancer.hosts.state import DOMAIN, Seen
from seamark.families.loadbalancer.model.entries import HostEntry
from seamark.families.loadbalancer.model.names import FINALIZER, domain_name
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: Seen) -> Wanted:
    if seen.theirs is not None or not seen.wanted:
        return Wanted()
    namespace, host = seen.key
    metadata = ObjectMeta(name=domain_name(host), namespace=namespace, finalizers=(FINALIZER,))
    return Wanted(children={DOMAIN: Domain(metadata=metadata, spec=DomainSpec(domain=host))})


def report(seen: Seen, answers: Answers) -> Mapping[Key, HostEntry]:
    if seen.theirs is not None:
        return {seen.key: HostEntry(seen.theirs.metadata.name)}
    if not seen.wanted:
        return {}
    if refusal := answers.refusal(DOMAIN):
        return {seen.key: HostEntry(refusal=refusal.message)}
    ref = answers.ref(DOMAIN)
    return {seen.key: HostEntry(ref.name)} if ref else {}
