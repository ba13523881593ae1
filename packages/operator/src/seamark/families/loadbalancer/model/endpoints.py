"""What both kinds of endpoint have in common: the policy that they name, and the Domain of their host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.conditions import condition_of
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.entries import HostEntry
from seamark.families.loadbalancer.model.hosts import named_host
from seamark.families.loadbalancer.model.names import FROM_POLICY
from seamark.families.loadbalancer.model.policies import BadPolicy, UncheckedPolicy, check
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, DomainRef, NgrokTrafficPolicy
from seamark_edge.model import PolicyRefusal
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.conditions import ConditionType
from seamark_runtime.view import View

PENDING = {"Pending": "Not verified yet, or no response yet"}
INLINE, NONE = "inline", "none"

POLICY_APPLIED = ConditionType(
    "TrafficPolicyApplied",
    meaning="The endpoint's policy is in force at the edge",
    reasons={
        "TrafficPolicyApplied": "It is, or there is none",
        "TrafficPolicyError": "It is missing, can't be read, or was refused; the last good one stays in force",
        "NotVerified": "The edge has not confirmed it since the time in the message",
        **PENDING,
    },
)
DOMAIN_READY = ConditionType(
    "DomainReady",
    meaning="The host that the endpoint is reached by is reserved at the edge",
    reasons={
        "DomainReady": "The domain is ready, or no host is needed",
        "DomainCreating": "The Domain does not exist yet, or the edge has not answered",
        "NotVerified": "The edge has not confirmed the domain since the time in the message",
        "NgrokAPIError": "The Domain can't be made",
        **PENDING,
    },
)


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy that is wanted. `error`: why it is not known; then `document` is what is in force as far as known."""

    name: str
    document: Mapping[str, Any] | None = None
    error: str = ""

    @property
    def known(self) -> bool:
        """Whether it is known what is wanted at the edge."""
        return not self.error or self.document is not None


@dataclass(frozen=True, slots=True)
class Host:
    """The Domain of an endpoint's host: the entry about it, and the object. `needed` is False without a host."""

    needed: bool
    entry: HostEntry | None = None
    domain: Domain | None = None

    @property
    def ref(self) -> DomainRef | None:
        if self.domain is None:
            return None
        return DomainRef(name=self.domain.metadata.name, namespace=self.domain.metadata.namespace)

    @property
    def reserved(self) -> bool:
        """The edge has it, so that endpoints can be opened there. While the edge does not answer, that stands."""
        has_it = self.domain is not None and self.domain.status is not None and bool(self.domain.status.id)
        return not self.needed or (has_it and self._created != "False")

    @property
    def refused(self) -> bool:
        """The edge has refused it, or another Domain has it: no client reaches an endpoint there."""
        return self.needed and self._created == "False"

    @property
    def _created(self) -> str:
        condition = condition_of(self.domain, "DomainCreated") if self.domain is not None else None
        return condition.status if condition is not None else ""


def host_seen(dependencies: Dependencies, view: View, obj: AgentEndpoint | CloudEndpoint) -> Host:
    name = named_host(obj)
    if not name:
        return Host(needed=False)
    entry = view.entry(dependencies.hosts, Key(obj.metadata.namespace, name))
    domain = view.get(Domain, Key(obj.metadata.namespace, entry.name)) if entry and entry.name else None
    return Host(True, entry, domain)


def policy_seen(refusal: PolicyRefusal, view: View, obj: AgentEndpoint | CloudEndpoint) -> Policy:
    policy = obj.spec.traffic_policy
    name: str = getattr(obj.spec, "traffic_policy_name", "")  # only CloudEndpoints have the deprecated fields
    if policy is not None and policy.target_ref is not None:
        name = policy.target_ref.name
    if name:
        return named_policy(view, obj.metadata.namespace, name, refusal)
    inline = None
    if policy is not None:
        inline = policy.inline if policy.inline is not None else getattr(policy, "policy", None)
    source = obj.annotation(FROM_POLICY)
    if source:
        return Policy(source, inline, named_policy(view, obj.metadata.namespace, source, refusal).error)
    if inline is None:
        return Policy(NONE)
    try:
        check(inline, refusal, obj.metadata.namespace)
    except BadPolicy as bad:
        requeue_unchecked(view, bad)
        return Policy(INLINE, None, bad.message)
    return Policy(INLINE, inline)


def named_policy(view: View, namespace: str, name: str, refusal: PolicyRefusal) -> Policy:
    """An NgrokTrafficPolicy: its document, or why it can't be used."""
    found = view.intent(NgrokTrafficPolicy, Key(namespace, name))
    if found is None or found.deleting:
        return Policy(name, None, f"NgrokTrafficPolicy {name} does not exist")
    document = found.spec.policy or {}
    try:
        check(document, refusal, namespace)
    except BadPolicy as bad:
        requeue_unchecked(view, bad)
        return Policy(name, None, f"NgrokTrafficPolicy {name} can't be used: {bad.message}")
    return Policy(name, document)


def requeue_unchecked(view: View, bad: BadPolicy) -> None:
    """A policy that was not checked for want of time is checked as soon as there is some."""
    if isinstance(bad, UncheckedPolicy):
        view.requeue_at = min(view.requeue_at, view.now + bad.after)


def domain_ready(host: Host) -> Condition:
    if not host.needed:
        return DOMAIN_READY.true("DomainReady", "No domain is needed")
    if host.entry is not None and host.entry.refusal:
        return DOMAIN_READY.false("NgrokAPIError", host.entry.refusal)
    parts = [condition_of(host.domain, name) for name in ("DomainCreated", "CertificateReady", "DNSConfigured")]
    known = [part for part in parts if part is not None]
    created, certificate = parts[:2]
    if any(part.status == "False" for part in known):
        return DOMAIN_READY.worst_of(*known, otherwise=("DomainReady", ""))
    if created is not None and (created.status, created.reason) == ("Unknown", "NotVerified"):
        return DOMAIN_READY.unverified("The edge has not confirmed the domain")
    if created is None or certificate is None or "Unknown" in (created.status, certificate.status):
        return DOMAIN_READY.not_yet("DomainCreating", created.message if created else "The Domain does not exist yet")
    return DOMAIN_READY.true("DomainReady", "The edge has the domain and a certificate for it")
