"""Clients of gateways, routes and their policies: at the gateway's address, from outside."""

from __future__ import annotations

from typing import Any

from tests.witness.api import Json
from tests.witness.claim import Lab, conditions
from tests.witness.clients import Answer, plain_http
from tests.witness.manifests import HEADER


def gateway_answers(lab: Lab, gateway: Json) -> Answer | None:
    """Any HTTP response, or a TLS handshake, whatever the certificate."""
    host = address(gateway)
    if not host:
        return None
    listener = gateway["spec"]["listeners"][0]
    if listener["protocol"] == "HTTPS":
        return lab.clients.openssl(host, 443, "s1.example.com")
    return lab.clients.curl(f"http://{host}:{listener['port']}/", good=("",))


def set_answers(lab: Lab, listeners: Json) -> Answer | None:
    """Any HTTP response at the port of the set, at the address of its gateway."""
    gateway = lab.objects.get(("Gateway", "gw", listeners["spec"]["parentRef"]["name"]))
    host = address(gateway) if gateway is not None else ""
    port = listeners["spec"]["listeners"][0]["port"]
    return lab.clients.curl(f"http://{host}:{port}/", good=("",)) if host else None


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
    name, host = route["spec"]["hostnames"][0], address_of(lab, route)
    if host and parent(route) != "secure" and name.startswith(("r2", "o2")):
        return plain_http(host, 80, name)
    return lab.clients.curl(*request(route, host)) if host else None


def route_matched(lab: Lab, route: Json) -> Answer | None:
    """A request that matches gets the response of the route, whichever that is: not that no route matches."""
    host = address_of(lab, route)
    return lab.clients.code(*request(route, host), bad=("404",)) if host else None


def references_resolved(lab: Lab, route: Json) -> Answer | None:
    """No rule is answered with 500, Envoy's answer where a reference can't be used."""
    host = address_of(lab, route)
    return lab.clients.code(*request(route, host), bad=("500",)) if host else None


def policy_attached(lab: Lab, policy: Json) -> Answer | None:
    """The responses of the targeted route have the header that the policy sets."""
    route = lab.objects.get(("HTTPRoute", "gw", policy["spec"]["targetRefs"][0]["name"]))
    host = address_of(lab, route) if route is not None else ""
    name, value = HEADER
    return lab.clients.header(*request(route, host), name=name, value=value) if route is not None and host else None


def request(route: Json, host: str) -> tuple[str, ...]:
    """URL and options of curl."""
    name = route["spec"]["hostnames"][0]
    if parent(route) == "secure":
        return (f"https://{name}/", "--insecure", "--resolve", f"{name}:443:{host}")
    return (f"http://{host}/", "--header", f"Host: {name}")


def address_of(lab: Lab, route: Json) -> str:
    """Of its gateway, while that is Programmed."""
    gateway = lab.objects.get(("Gateway", "gw", parent(route)))
    return address(gateway) if gateway is not None and programmed(gateway) else ""


def parent(route: Json) -> str:
    return str(route["spec"]["parentRefs"][0]["name"])


def address(gateway: Json) -> str:
    addresses: Any = (gateway.get("status") or {}).get("addresses") or [{}]
    return str(addresses[0].get("value", ""))
