"""Clients of load balancers and endpoints: from outside of the edge, of the edge's API, and from a Pod."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from tests.witness.api import Json
from tests.witness.claim import Lab
from tests.witness.clients import Answer
from tests.witness.sandbox import EDGE

REST = 4040
CLUSTER = ".svc.cluster.local"
API = f"http://{EDGE}:{REST}"


def service_reached(lab: Lab, service: Json) -> Answer | None:
    """The address in the status answers from outside of the edge."""
    host, port = ingress(service)
    if not host:
        return None
    if is_name(host):
        return by_tls(lab, host, port, lab.edge_ca)
    return lab.clients.curl(f"http://{host}:{port}/")


def address_assigned(lab: Lab, service: Json) -> Answer | None:
    """The edge's API lists the TCP address as reserved."""
    host, port = ingress(service)
    if not host or is_name(host):
        return None
    return lab.clients.listed(f"{API}/reserved_addrs", lab.edge_key, f"{host}:{port}")


def endpoint_reached(lab: Lab, endpoint: Json) -> Answer | None:
    url = assigned(endpoint)
    scheme, _, rest = url.partition("://")
    if scheme not in {"tls", "https", "tcp"}:
        return None
    host, _, port = rest.partition(":")
    if scheme == "tcp":
        return lab.clients.curl(f"http://{host}:{port}/")
    own = bool(endpoint["spec"].get("tlsTermination"))
    return by_tls(lab, host, int(port or 443), lab.own_ca if own else lab.edge_ca)


def endpoint_created(lab: Lab, endpoint: Json) -> Answer | None:
    """The edge's API lists an endpoint of this host."""
    host = urlsplit(assigned(endpoint)).hostname
    return lab.clients.listed(f"{API}/endpoints", lab.edge_key, host) if host and is_name(host) else None


def upstream_accepts(lab: Lab, endpoint: Json) -> Answer | None:
    """A connection from a Pod to the upstream is accepted, and not closed at once."""
    parts = urlsplit(endpoint["spec"]["upstream"]["url"])
    host = (parts.hostname or "").removesuffix(CLUSTER)
    return lab.clients.connects(f"{host}{CLUSTER}", parts.port or 80)


def policy_applied(lab: Lab, endpoint: Json) -> Answer | None:
    """The policy admits no client: no response comes through."""
    host = urlsplit(assigned(endpoint)).hostname
    if not host:
        return None
    answer = by_tls(lab, host, 443, lab.edge_ca)
    return Answer(not answer.good, answer.detail, answer.began, answer.ended)


def cloud_reached(lab: Lab, endpoint: Json) -> Answer | None:
    """The URL of an endpoint that forwards to one of an agent."""
    host = urlsplit(endpoint["spec"]["url"]).hostname
    return by_tls(lab, host, 443, lab.edge_ca) if host else None


def domain_served(lab: Lab, domain: Json) -> Answer | None:
    """A TLS client that reaches the edge gets a certificate for the name."""
    return lab.clients.openssl(EDGE, 443, domain["spec"]["domain"], lab.edge_ca)


def by_tls(lab: Lab, host: str, port: int, authority: str) -> Answer:
    options = ["--cacert", authority, "--resolve", f"{host}:{port}:{EDGE}"]
    return lab.clients.curl(f"https://{host}:{port}/", *options)


# ---- which objects claim what


def ingress(service: Json) -> tuple[str, int]:
    """The first address in the status, with its port; ("", 0) without one."""
    found: Any = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if not found or not found[0].get("ports"):
        return "", 0
    return str(found[0].get("hostname") or found[0]["ip"]), int(found[0]["ports"][0]["port"])


def is_name(host: str) -> bool:
    return not host.replace(".", "").isdigit()


def assigned(endpoint: Json) -> str:
    return str((endpoint.get("status") or {}).get("assignedURL") or "")


def of_class(service: Json) -> bool:
    return bool(service["spec"].get("loadBalancerClass") == "ngrok")


def is_public(endpoint: Json) -> bool:
    """For clients outside: not bound into a cluster, nor for other endpoints alone."""
    inside = (urlsplit(endpoint["spec"].get("url") or "").hostname or "").endswith(".internal")
    return "kubernetes" not in (endpoint["spec"].get("bindings") or ()) and not inside


def admits(endpoint: Json) -> bool:
    return is_public(endpoint) and not has_policy(endpoint)


def has_policy(endpoint: Json) -> bool:
    return bool(endpoint["spec"].get("trafficPolicy"))


def to_a_service(endpoint: Json) -> bool:
    """The upstream is named as a Service, and TLS does not end at the agent, whose certificate is in the condition."""
    host = urlsplit(endpoint["spec"]["upstream"]["url"]).hostname or ""
    return host.removesuffix(CLUSTER).count(".") == 1 and not endpoint["spec"].get("tlsTermination")


def of_the_edge(domain: Json) -> bool:
    """Clients of e2 get the certificate of its agent."""
    return not str(domain["spec"]["domain"]).startswith("e2-")
