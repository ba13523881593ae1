"""Records as the webhook protocol writes them: ExternalDNS's Endpoint, in JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from seamark.providers.dns.domains import Domains
from seamark.providers.dns.model import Change, Record
from seamark.providers.dns.targets import BadTarget, canonical
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
DOTTED = ("SRV", "NAPTR")
HERITAGE = "heritage="
LONGEST_TTL = 2**31 - 1  # RFC 2181


class Property(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str = ""
    value: str = ""


class Endpoint(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    dns_name: str = msgspec.field(default="", name="dnsName")
    targets: tuple[str, ...] | None = None
    record_type: str = ""
    set_identifier: str = ""
    record_ttl: int = msgspec.field(default=0, name="recordTTL")
    labels: dict[str, str] | None = None
    provider_specific: tuple[Property, ...] | None = None


class Changes(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What `POST /records` carries. Updates are pairs by their place."""

    create: tuple[Endpoint, ...] | None = None
    update_old: tuple[Endpoint, ...] | None = None
    update_new: tuple[Endpoint, ...] | None = None
    delete: tuple[Endpoint, ...] | None = None


class DomainFilter(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    regex_include: str = ""
    regex_exclude: str = ""

    def domains(self) -> Domains:
        """As a filter that can be applied; InvalidFilter if it can't."""
        return Domains(self.include or (), self.exclude or (), self.regex_include, self.regex_exclude)


def endpoint_of(record: Record) -> Endpoint:
    return Endpoint(
        dns_name=record.name,
        targets=tuple(_written(record.type, target) for target in record.targets),
        record_type=record.type,
        set_identifier=record.set_identifier,
        record_ttl=record.ttl,
        provider_specific=tuple(Property(*pair) for pair in record.properties) or None,
    )


def record_of(endpoint: Endpoint) -> Record | None:
    """In our spelling; None for what no DNS server could hold, which is ignored."""
    if endpoint.record_ttl > LONGEST_TTL:
        return None
    try:
        name = canonical_name(endpoint.dns_name)
        targets = {
            canonical(endpoint.record_type, _read(endpoint.record_type, entry)) for entry in endpoint.targets or ()
        }
    except (InvalidDnsName, BadTarget):
        return None
    properties = tuple(sorted((entry.name, entry.value) for entry in endpoint.provider_specific or ()))
    ttl = max(0, endpoint.record_ttl)
    return Record(name, endpoint.record_type, tuple(sorted(targets)), ttl, endpoint.set_identifier, properties)


def split(changes: list[Change] | tuple[Change, ...]) -> tuple[Changes, Changes]:
    """Two messages for a provider that is not atomic: ownership is written first, and removed last."""
    first: dict[str, list[Endpoint]] = {"create": [], "update_old": [], "update_new": [], "delete": []}
    last: dict[str, list[Endpoint]] = {"create": [], "update_old": [], "update_new": [], "delete": []}
    for change in changes:
        for number, part in enumerate(change.parts):
            ownership = number > 0 and part.record.type == "TXT"
            if part.before is None and part.after is not None:
                (first if ownership else last)["create"].append(endpoint_of(part.after))
            elif part.after is None and part.before is not None:
                (last if ownership else first)["delete"].append(endpoint_of(part.before))
            elif part.before is not None and part.after is not None:
                into = first if ownership else last
                into["update_old"].append(endpoint_of(part.before))
                into["update_new"].append(endpoint_of(part.after))
    return _message(first), _message(last)


def _message(lists: dict[str, list[Endpoint]]) -> Changes:
    return Changes(**{name: tuple(entries) or None for name, entries in lists.items()})


def is_empty(changes: Changes) -> bool:
    return changes == Changes()


def to_json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _written(type_: str, target: str) -> str:
    if not target.isascii():  # bytes of a TXT record that are no UTF-8: JSON can't carry them, `\xdd` can be read
        target = target.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if type_ == "TXT" and target.startswith(HERITAGE):
        return f'"{target}"'  # as ExternalDNS itself writes ownership
    return f"{target}." if type_ in DOTTED and not target.endswith(".") else target


def _read(type_: str, target: str) -> str:
    """Providers differ in their dots; a record that is there is read with and without."""
    if type_ in DOTTED:
        return target if target.endswith(".") else f"{target}."
    return target if type_ == "TXT" else target.removesuffix(".") or target
