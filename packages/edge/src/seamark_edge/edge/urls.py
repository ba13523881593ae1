"""What an edge makes of the URL of an endpoint: one place with a host and a port, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_edge import urls
from seamark_edge.edge.errors import Refusal, invalid
from seamark_edge.urls import BadUrl, Place, UnknownScheme
from seamark_runtime.untrusted.patterns import Pattern

SHARED_PORT = ("tls", "https")  # schemes whose endpoints share one public port and differ by server name
NAMED = ("http", *SHARED_PORT)  # schemes whose public endpoints are selected by a host name
BINDINGS = ("public", "internal", "kubernetes")

_SERVICE = Pattern(r"[a-z][a-z0-9-]{0,62}\.[a-z][a-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class EndpointUrl(Place):
    """Where an endpoint of this edge is reached. `key` is equal for two URLs that are the same place here."""

    @property
    def key(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def __str__(self) -> str:
        if self.port == urls.PORTS.get(self.scheme):
            return f"{self.scheme}://{self.host}"
        return f"{self.scheme}://{self.hostport}"

    @property
    def by_name(self) -> bool:
        """Whether clients select it by a host name, and not by a port of its own."""
        return self.scheme in NAMED


def parse_url(text: str) -> EndpointUrl:
    """An endpoint URL, or a refusal that names the error."""
    try:
        found = urls.place(text)
    except UnknownScheme as error:
        raise Refusal(9437, str(error)) from None
    except BadUrl as error:
        raise invalid(str(error)) from None
    if not found.fixed:
        raise invalid(f"{text[:200]!r} needs a host")
    return EndpointUrl(found.scheme, found.host, found.port)


def wildcard_above(host: str) -> str:
    """The wildcard that receives connections for this host while it has no endpoint; "" for a wildcard."""
    return "" if host.startswith("*.") else f"*.{host.partition('.')[2]}"


def check_host(host: str) -> str:
    try:
        return urls.check_host(host)
    except BadUrl as error:
        raise invalid(str(error)) from None


def reservable(host: str) -> str:
    """A host name, or a wildcard, that clients can select an endpoint by; a refusal that names the reason."""
    labels = check_host(host).removeprefix("*.").split(".")
    if labels[-1].isdigit() or ":" in host:
        raise invalid(f"{host} is an address, and no host name: only names are reserved here")
    if labels[-1] == "internal":
        raise invalid(f"{host} can't be reserved: names that end in .internal have no public port")
    if len(labels) == 1:
        raise invalid(f"{host} can't be reserved: a name needs a dot, as in shop.example.com")
    return host


def binding_of(url: EndpointUrl, bindings: tuple[str, ...] | list[str] | None) -> str:
    """Which of the three kinds of place this is; the URL and the binding must agree."""
    named = [binding for binding in bindings or () if binding]
    if len(named) > 1:
        raise invalid("an endpoint has one binding")
    binding = named[0] if named else ("internal" if url.internal else "public")
    if binding not in BINDINGS:
        raise invalid(f"{binding[:50]!r} is no binding: {', '.join(BINDINGS)} are")
    if (binding == "internal") != url.internal:
        raise invalid(f"hosts that end in .internal have the internal binding, others have not: {url}")
    if binding == "kubernetes" and not _SERVICE.fullmatch(url.host):
        raise invalid(f"the host of a kubernetes binding is service.namespace: {url.host!r} is not")
    return binding
