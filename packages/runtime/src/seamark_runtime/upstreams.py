"""Which Service a host names, and whether an object of a namespace may name it.

- `destination` reads a host as the DNS of a cluster does, for an object of one namespace, and gives the one absolute
  name that is looked up. The search list of the Pod that connects takes no part: there a short name would be a Service
  of the Pod's own namespace.
- Services of other namespaces take a ReferenceGrant there, or a setting of the installation.
- A host outside of the cluster must lead to public addresses: a private one may belong to any tenant of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seamark_runtime.reach import on_machine, parsed, private
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name, folded

CLUSTER_DOMAIN = "svc.cluster.local"
SETTING = "lb_cross_namespace_upstreams"  # of the operator; the chart sets it for the agents, too
CROSSING = (
    "the Service is in another namespace: that takes a ReferenceGrant there, from AgentEndpoints of this namespace to"
    f" Services, or the setting {SETTING} of the installation; a host outside of the cluster ends in a dot"
)
POD_CROSSING = (
    f"the host is in the cluster and not in this namespace: name a Service; {SETTING} of the installation allows others"
)
PRIVATE = f"the address is a private one: name a Service of this namespace, or allow others by the setting {SETTING}"


class BadHost(ValueError):
    """No host that can be looked up; the message reads on after the name of a field."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a host leads.

    `host` is an absolute name, without the dot at its end, or an address. `namespace` is the one that it is in, "" if
    it is not known, None outside of the cluster. `service` is "" for what is no Service: no grant can allow that.
    """

    host: str
    namespace: str | None = None
    service: str = ""


@dataclass(frozen=True, slots=True)
class UpstreamRules:
    """What the installation says about upstreams, and about the namespaces that endpoints are bound into."""

    cluster_domain: str = CLUSTER_DOMAIN
    cross_namespace: bool = False
    cross_namespace_bindings: bool = False


def destination(host: str, namespace: str, cluster_domain: str = CLUSTER_DOMAIN) -> Destination:
    """Where a host leads that an object of this namespace names."""
    try:
        address = parsed(folded(host))  # in its canonical form: digits of other scripts are digits there
        if address is not None:
            return Destination(str(address))
        name = canonical_name(host)
    except InvalidDnsName as error:
        raise BadHost(f"the host {error}") from None
    if f".{name}".endswith(".localhost"):
        return Destination("127.0.0.1")
    base = cluster_domain.removeprefix("svc.")
    labels = _in_cluster(name.split("."), namespace, base, absolute=host.rstrip().endswith("."))
    return Destination(name) if labels is None else _inside(labels, base)


def _in_cluster(labels: list[str], namespace: str, base: str, *, absolute: bool) -> list[str] | None:
    """The labels in front of the cluster's domain; None for a name outside of the cluster."""
    domain = base.split(".")
    if labels[-len(domain) :] == domain:
        return labels[: -len(domain)]
    match labels:
        case _ if absolute:
            return None
        case [service]:
            return [service, namespace, "svc"]
        case [service, other]:
            return [service, other, "svc"]
        case [*_, _, _, "svc" | "pod"]:
            return labels
    return None


def _inside(labels: list[str], base: str) -> Destination:
    host = ".".join((*labels, base))
    match labels:
        case [*_, service, namespace, "svc"]:
            return Destination(host, namespace, service)
        case [*_, _, namespace, "pod"]:
            return Destination(host, namespace)
    return Destination(host, "")


def refusal(wanted: Destination, namespace: str, rules: UpstreamRules, granted: Callable[[str, str], bool]) -> str:
    """Why an object of this namespace may not name it; "" if it may. `granted` is of (namespace, service)."""
    if rules.cross_namespace or wanted.namespace == namespace:
        return ""
    if wanted.namespace is None:
        return PRIVATE if out_of_reach(wanted.host) else ""
    if not wanted.service:
        return POD_CROSSING
    return "" if granted(wanted.namespace, wanted.service) else CROSSING


def out_of_reach(address: str) -> bool:
    """Whether this address may belong to any tenant of the cluster. On a user's machine the loopback is the user's.

    A cluster on the loopback has its Services and Pods there: their addresses are private ones as in any cluster.
    """
    return private(address) and not on_machine(address)
