"""`apiKeyAuth`: keys of clients from a Secret, by the client's name. No message shows a key."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.api.trafficfilters import ApiKeyAuth, KeySource
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import most
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters
from seamark_runtime.untrusted.patterns import Pattern

MOST_CLIENTS, MOST_SOURCES = 1024, 16
DEFAULT_HEADER = "api-key"
KEY = Pattern(r"[!-~]{1,1000}")
PARAMETER = Pattern(r"[!-~]{1,256}")


def read(field: str, given: ApiKeyAuth, references: References) -> filters.ApiKeys:
    ref, where = given.secret_ref, f"{field}.secretRef"
    if ref is None:
        raise Unsupported(f"{where} is required")
    if ref.key is not None:
        raise Unsupported(f"{where}.key is not supported: every entry of the Secret is a client")
    header = given.client_id_header
    sources = most(f"{field}.keySources", given.key_sources, MOST_SOURCES) or (KeySource(header=DEFAULT_HEADER),)
    return filters.ApiKeys(
        clients=_clients(where, references.secret(where, ref)),
        sources=tuple(_source(f"{field}.keySources[{number}]", source) for number, source in enumerate(sources)),
        forward=given.forward_credential,
        client_header=limits.changed_header(f"{field}.clientIdHeader", header) if header else "",
    )


def _clients(field: str, entries: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    limits.at_most(field, entries, MOST_CLIENTS)
    clients: dict[str, str] = {}  # by key: one key has one client
    for name, content in sorted(entries.items()):
        key = content.decode(errors="replace").strip()
        if KEY.fullmatch(key) is None:
            raise Unsupported(f"{field}: the entry {name[:60]!a} is no key: 1 to 1000 printable ASCII characters")
        if key in clients:
            raise Unsupported(f"{field}: the entries {clients[key][:60]!a} and {name[:60]!a} have the same key")
        clients[key] = name
    if not clients:
        raise Unsupported(f"{field}: the Secret has no entry")
    return tuple((name, key) for key, name in clients.items())


def _source(field: str, given: KeySource) -> tuple[str, str]:
    places = {"header": given.header, "query": given.query, "cookie": given.cookie}
    found = [(place, name) for place, name in places.items() if name is not None]
    if len(found) != 1:
        raise Unsupported(f"{field}: exactly one of header, query and cookie is required")
    [(place, name)] = found
    if place != "query":
        return place, limits.header_name(f"{field}.{place}", name)
    if PARAMETER.fullmatch(name) is None:
        raise Unsupported(f"{field}.query: {limits.shown(name)} is not a valid name of a parameter")
    return place, name
