"""What True means to a client: for each condition who succeeds, from where, doing what, with which shelf life.

The table follows the specification pages. A condition that no line names claims nothing that a client can see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.witness import manifests
from tests.witness.api import Json, Key
from tests.witness.clients import Answer, Clients, plain_http
from tests.witness.sandbox import EDGE, NAME_SERVER

SHELF = 15.0  # seconds; World gives the same to the product

Objects = dict[Key, Json]


@dataclass(frozen=True)
class Lab:
    """What a client needs to know: where it runs, whom it trusts, and the present objects."""

    clients: Clients
    edge_ca: str
    own_ca: str
    objects: Objects


Client = Callable[[Lab, Json], Answer | None]
"""None: the object shows nothing to connect to."""


@dataclass(frozen=True)
class Claim:
    kind: str
    condition: str
    family: str
    says: str
    client: Client
    shelf: float = SHELF
    when: Callable[[Json], bool] = lambda obj: True
    within: str = ""  # another condition of the object: only while it is True, this one claims what clients see


def conditions(obj: Json) -> Iterator[Json]:
    """Conditions of an object and of a route's parents. A Gateway's only listener has its own, marked as such."""
    status = obj.get("status") or {}
    for listener in status.get("listeners") or ():
        for one in listener.get("conditions") or ():
            yield {**one, "type": f"listener {one['type']}"}
    yield from status.get("conditions") or ()
    for parent in status.get("parents") or ():
        yield from parent.get("conditions") or ()


# ---- gateways


def gateway_answers(lab: Lab, gateway: Json) -> Answer | None:
    """Any HTTP response, or a TLS handshake, whatever the certificate."""
    host = address(gateway)
    if not host:
        return None
    listener = gateway["spec"]["listeners"][0]
    if listener["protocol"] == "HTTPS":
        return lab.clients.openssl(host, 443, "s1.example.com")
    return lab.clients.curl(f"http://{host}:{listener['port']}/", good=("",))


def programmed(gateway: Json) -> bool:
    return any(one["type"] == "Programmed" and one["status"] == "True" for one in conditions(gateway))


def certificate_valid(lab: Lab, gateway: Json) -> Answer | None:
    """A TLS client that checks names and dates, while the gateway is Programmed."""
    host = address(gateway) if programmed(gateway) else ""
    return lab.clients.openssl(host, 443, "s1.example.com", lab.own_ca) if host else None


def is_https(gateway: Json) -> bool:
    return bool(gateway["spec"]["listeners"][0]["protocol"] == "HTTPS")


def route_served(lab: Lab, route: Json) -> Answer | None:
    """A backend answers under the route's host name, while the gateway is Programmed; of dates it claims nothing."""
    name, gateway = route["spec"]["hostnames"][0], lab.objects.get(("Gateway", "gw", parent(route)))
    host = address(gateway) if gateway is not None and programmed(gateway) else ""
    if not host:
        return None
    if parent(route) == "secure":
        return lab.clients.curl(f"https://{name}/", "--insecure", "--resolve", f"{name}:443:{host}")
    if name.startswith(("r2", "o2")):
        return plain_http(host, 80, name)
    return lab.clients.curl(f"http://{host}/", "--header", f"Host: {name}")


def parent(route: Json) -> str:
    return str(route["spec"]["parentRefs"][0]["name"])


def address(gateway: Json) -> str:
    addresses: Any = (gateway.get("status") or {}).get("addresses") or [{}]
    return str(addresses[0].get("value", ""))


# ---- load balancers


def service_reached(lab: Lab, service: Json) -> Answer | None:
    """The address in the status answers from outside of the edge."""
    ingress: Any = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if not ingress or not ingress[0].get("ports"):
        return None
    host, port = ingress[0].get("hostname") or ingress[0]["ip"], ingress[0]["ports"][0]["port"]
    if "hostname" in ingress[0]:
        return by_tls(lab, host, port, lab.edge_ca)
    return lab.clients.curl(f"http://{host}:{port}/")


def endpoint_reached(lab: Lab, endpoint: Json) -> Answer | None:
    url = str((endpoint.get("status") or {}).get("assignedURL") or "")
    scheme, _, rest = url.partition("://")
    if scheme not in {"tls", "https", "tcp"}:
        return None
    host, _, port = rest.partition(":")
    if scheme == "tcp":
        return lab.clients.curl(f"http://{host}:{port}/")
    own = bool(endpoint["spec"].get("tlsTermination"))
    return by_tls(lab, host, int(port or 443), lab.own_ca if own else lab.edge_ca)


def by_tls(lab: Lab, host: str, port: int, authority: str) -> Answer:
    options = ["--cacert", authority, "--resolve", f"{host}:{port}:{EDGE}"]
    return lab.clients.curl(f"https://{host}:{port}/", *options)


# ---- bindings, names, workloads


def bound_reached(lab: Lab, bound: Json) -> Answer | None:
    """A Pod connects to the target Service by its name."""
    target = bound["spec"]["target"]
    url = f"http://{target['service']}.{target['namespace']}.svc.cluster.local:{target['port']}/"
    return lab.clients.curl(url, pod=True)


def name_served(lab: Lab, endpoint: Json) -> Answer | None:
    """The name server answers every record with exactly its targets."""
    answer = None
    for entry in endpoint["spec"].get("endpoints") or ():
        answer = lab.clients.dig(NAME_SERVER, entry["dnsName"], entry["recordType"], entry["targets"])
        if not answer.good:
            return answer
    return answer


def workload_reached(lab: Lab, workload: Json) -> Answer | None:
    """A Pod gets a response from the endpoint in the status."""
    url = (workload.get("status") or {}).get("endpoint")
    return lab.clients.curl(str(url), pod=True) if url else None


def of_class(service: Json) -> bool:
    return bool(service["spec"].get("loadBalancerClass") == "ngrok")


def is_public(endpoint: Json) -> bool:
    return "kubernetes" not in (endpoint["spec"].get("bindings") or ())


CLAIMS = (
    Claim("Gateway", "Programmed", "gateway", "Envoy answers at the gateway's address, from outside", gateway_answers),
    Claim(
        "Gateway",
        "listener ResolvedRefs",
        "gateway",
        "a TLS client that checks dates accepts the certificate",
        certificate_valid,
        when=is_https,
        within="Programmed",
    ),
    Claim("HTTPRoute", "seamark.dev/BackendsReady", "gateway", "a backend answers under the host name", route_served),
    Claim(
        "Service",
        "k8s.ngrok.com/Reachable",
        "loadbalancer",
        "the address in the status answers, from outside of the edge",
        service_reached,
        when=of_class,
    ),
    Claim(
        "AgentEndpoint",
        "Ready",
        "loadbalancer",
        "the assigned URL answers, from outside of the edge",
        endpoint_reached,
        when=is_public,
    ),
    Claim("BoundEndpoint", "Ready", "bindings", "a Pod connects by the name of the target Service", bound_reached),
    Claim("DNSEndpoint", "Ready", "dns", "dig gets exactly these records from the name server", name_served),
    Claim("Workload", "Ready", "score", "a Pod gets a response from status.endpoint", workload_reached),
)


def claims_of(obj: Json) -> Iterable[Claim]:
    return (claim for claim in CLAIMS if claim.kind == obj["kind"] and claim.when(obj))


def published(obj: Json) -> dict[str, str]:
    """What clients use of a status, by what it is: an outage must not remove it."""
    status: Json = obj.get("status") or {}
    found: dict[str, str] = {}
    match obj["kind"]:
        case "Gateway":
            found["addresses"] = address(obj)
        case "Service" if of_class(obj):
            ingress: Any = (status.get("loadBalancer") or {}).get("ingress") or ()
            found["ingress"] = " ".join(str(one.get("hostname") or one.get("ip")) for one in ingress)
        case "AgentEndpoint":
            found["assignedURL"] = str(status.get("assignedURL") or "")
        case "Workload":
            found["endpoint"] = str(status.get("endpoint") or "")
        case "WorkloadExposure":
            found["exposures"] = " ".join(str(one.get("url")) for one in status.get("exposures") or ())
    return found


WATCHED = (*sorted({claim.kind for claim in CLAIMS}), "WorkloadExposure", "KubernetesOperator", "Lease")
NAMESPACES = manifests.NAMESPACES
