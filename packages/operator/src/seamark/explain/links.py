"""What an object depends on: one function per kind, from its manifest to the objects it names or owns.

- `Reference` is an object that must exist. `Selection` is every object of a kind that matches; `least` is how many
  of them must exist.
- Only what a person could follow by hand: references, owner references, labels, selectors, host names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from seamark.explain import kinds
from seamark.explain.model import Raw
from seamark_edge import urls
from seamark_runtime.api.meta import Key, Resource

CLASS = "ngrok"
OF_SERVICE = "kubernetes.io/service-name"
OF_GATEWAY = "gateway.networking.k8s.io/gateway-name"


@dataclass(frozen=True)
class Reference:
    resource: Resource
    key: Key
    how: str


@dataclass(frozen=True)
class Selection:
    """Objects of a kind in a namespace that have something: an owner, labels, a Workload they are about, a host."""

    resource: Resource
    namespace: str
    how: str
    owner: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    workload: str = ""
    hosts: frozenset[str] = frozenset()
    least: int = 0  # so many must be there
    most: int = 10  # of those that are well are shown; of the broken all

    def matches(self, raw: Raw) -> bool:
        labels = raw.get("metadata", {}).get("labels") or {}
        return (
            (not self.owner or self.owner in owners(raw))
            and all(labels.get(name) == value for name, value in self.labels)
            and (not self.workload or self.workload == workload_of(raw))
            and (not self.hosts or not self.hosts.isdisjoint(hosts(raw)))
        )

    @property
    def selector(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.labels)


Link = Reference | Selection


def links(resource: Resource, raw: Raw) -> Iterable[Link]:
    follow = FOLLOW.get(resource)
    return follow(raw) if follow else ()


def _meta(raw: Raw) -> tuple[str, str, str]:
    metadata = raw.get("metadata", {})
    return metadata.get("namespace", ""), metadata.get("name", ""), metadata.get("uid", "")


def _labels(labels: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


# ---- what an object has


def owners(raw: Raw) -> set[str]:
    return {reference.get("uid", "") for reference in raw.get("metadata", {}).get("ownerReferences") or ()}


def workload_of(raw: Raw) -> str:
    """The uid of the Workload that an object of Score is about."""
    uid: str = ((raw.get("spec") or {}).get("workloadRef") or {}).get("uid", "")
    return uid


def hosts(raw: Raw) -> set[str]:
    """The names that a DNSEndpoint is about."""
    return {endpoint.get("dnsName", "") for endpoint in (raw.get("spec") or {}).get("endpoints") or ()}


# ---- what runs


def service(raw: Raw) -> Iterator[Link]:
    namespace, name, uid = _meta(raw)
    spec = raw.get("spec") or {}
    if spec.get("type") == "LoadBalancer" and spec.get("loadBalancerClass") == CLASS:
        yield Selection(kinds.CLOUD_ENDPOINT, namespace, "kept for it at the edge", owner=uid)
        yield Selection(kinds.AGENT_ENDPOINT, namespace, "held for it by agents", owner=uid)
    if spec.get("type") == "ExternalName":
        if (inside := _service_of(spec.get("externalName", ""))) is not None:
            yield Reference(kinds.SERVICE, inside, "the name it stands for")
    elif spec.get("selector"):
        yield Selection(kinds.SLICE, namespace, "its endpoints", labels=((OF_SERVICE, name),), least=1)
        yield Selection(kinds.POD, namespace, "behind it", labels=_labels(spec["selector"]), least=1)
    else:
        yield Selection(kinds.SLICE, namespace, "its endpoints", labels=((OF_SERVICE, name),))


def _service_of(host: str) -> Key | None:
    """The Service that a host name inside the cluster means."""
    parts = host.split(".")
    return Key(parts[1], parts[0]) if len(parts) >= 3 and parts[2] == "svc" else None


def scaled(raw: Raw) -> Iterator[Link]:
    namespace, _, _ = _meta(raw)
    selector = ((raw.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    least = 1 if (raw.get("spec") or {}).get("replicas", 1) else 0
    yield Selection(kinds.POD, namespace, "runs", labels=_labels(selector), least=least)


# ---- Score


def workload(raw: Raw) -> Iterator[Link]:
    namespace, name, uid = _meta(raw)
    yield Selection(kinds.CLAIM, namespace, "it claims", workload=uid)
    yield Selection(kinds.EXPOSURE, namespace, "what its runtime publishes", workload=uid)
    yield from exposed(namespace, name)


def exposure(raw: Raw) -> Iterator[Link]:
    """It has the name of its Workload, and is judged from what was made for that."""
    namespace, name, _ = _meta(raw)
    yield from exposed(namespace, name)


def exposed(namespace: str, name: str) -> Iterator[Link]:
    of_it = (("score.dev/workload", name),)
    for kind, how in (
        (kinds.DEPLOYMENT, "runs it"),
        (kinds.STATEFUL_SET, "runs it"),
        (kinds.SERVICE, "reaches it"),
        (kinds.HTTP_ROUTE, "leads to it"),
        (kinds.DNS_ENDPOINT, "names it"),
    ):
        yield Selection(kind, namespace, how, labels=of_it)


# ---- Gateway API


def route(raw: Raw) -> Iterator[Link]:
    namespace, _, _ = _meta(raw)
    spec = raw.get("spec") or {}
    for parent in spec.get("parentRefs") or ():
        kind = {"Gateway": kinds.GATEWAYS, "ListenerSet": kinds.LISTENER_SET, "Service": kinds.SERVICE}
        if (resource := kind.get(parent.get("kind", "Gateway"))) is not None:
            yield Reference(resource, Key(parent.get("namespace", namespace), parent.get("name", "")), "its parent")
    seen: set[Key] = set()
    for number, rule in enumerate(spec.get("rules") or (), 1):
        for backend in rule.get("backendRefs") or ():
            key = Key(backend.get("namespace", namespace), backend.get("name", ""))
            if backend.get("kind", "Service") == "Service" and key not in seen:
                seen.add(key)
                yield Reference(kinds.SERVICE, key, f"backend of rule {number}")
    names = frozenset(spec.get("hostnames") or ())
    if names:
        yield Selection(kinds.DNS_ENDPOINT, namespace, "names its host", hosts=names)


def gateway(raw: Raw) -> Iterator[Link]:
    namespace, name, uid = _meta(raw)
    spec = raw.get("spec") or {}
    yield Reference(kinds.GATEWAY_CLASS, Key("", spec.get("gatewayClassName", "")), "its class")
    for listener in spec.get("listeners") or ():
        for certificate in (listener.get("tls") or {}).get("certificateRefs") or ():
            key = Key(certificate.get("namespace", namespace), certificate.get("name", ""))
            yield Reference(kinds.SECRET, key, f"certificate of listener {listener.get('name')}")
    yield Selection(kinds.SERVICE, namespace, "brings traffic to it", owner=uid)
    yield Selection(kinds.DEPLOYMENT, namespace, "serves it", labels=((OF_GATEWAY, name),))


def listener_set(raw: Raw) -> Iterator[Link]:
    namespace, _, _ = _meta(raw)
    parent = (raw.get("spec") or {}).get("parentRef") or {}
    yield Reference(kinds.GATEWAYS, Key(parent.get("namespace", namespace), parent.get("name", "")), "its Gateway")


# ---- the edge


def agent_endpoint(raw: Raw) -> Iterator[Link]:
    namespace, _, _ = _meta(raw)
    url = ((raw.get("spec") or {}).get("upstream") or {}).get("url", "")
    host = ""
    with suppress(urls.BadUrl):  # a URL that is not valid names no Service
        host = urls.upstream(url).host
    parts = host.split(".")
    if len(parts) >= 2 and (len(parts) == 2 or parts[2] == "svc"):
        yield Reference(kinds.SERVICE, Key(parts[1], parts[0]), "where its connections go")
    yield from _policy_and_domain(raw, namespace)


def cloud_endpoint(raw: Raw) -> Iterator[Link]:
    namespace, _, _ = _meta(raw)
    yield from _policy_and_domain(raw, namespace)


def _policy_and_domain(raw: Raw, namespace: str) -> Iterator[Link]:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    if target := ((spec.get("trafficPolicy") or {}).get("targetRef") or {}).get("name") or spec.get(
        "trafficPolicyName"
    ):
        yield Reference(kinds.TRAFFIC_POLICY, Key(namespace, target), "its policy")
    if domain := status.get("domainRef"):
        yield Reference(kinds.DOMAIN, Key(domain.get("namespace") or namespace, domain.get("name", "")), "its domain")


def bound_endpoint(raw: Raw) -> Iterator[Link]:
    namespace, _, _ = _meta(raw)
    status = raw.get("status") or {}
    if target := status.get("targetServiceRef"):
        yield Reference(
            kinds.SERVICE, Key(target.get("namespace") or namespace, target.get("name", "")), "what Pods use"
        )
    if upstream := status.get("upstreamServiceRef"):
        yield Reference(kinds.SERVICE, Key(namespace, upstream.get("name", "")), "leads to the forwarders")
    yield Selection(kinds.KUBERNETES_OPERATOR, namespace, "its installation", least=0)


def greeting(raw: Raw) -> Iterator[Link]:
    namespace, _, _ = _meta(raw)
    if reference := (raw.get("status") or {}).get("configMapRef"):
        yield Reference(kinds.CONFIG_MAP, Key(namespace, reference.get("name", "")), "where it is published")


FOLLOW: dict[Resource, Callable[[Raw], Iterable[Link]]] = {
    kinds.SERVICE: service,
    kinds.DEPLOYMENT: scaled,
    kinds.STATEFUL_SET: scaled,
    kinds.WORKLOAD: workload,
    kinds.EXPOSURE: exposure,
    kinds.GATEWAYS: gateway,
    kinds.LISTENER_SET: listener_set,
    kinds.AGENT_ENDPOINT: agent_endpoint,
    kinds.CLOUD_ENDPOINT: cloud_endpoint,
    kinds.BOUND_ENDPOINT: bound_endpoint,
    kinds.GREETING: greeting,
    **dict.fromkeys(kinds.ROUTES, route),
}
