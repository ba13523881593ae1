"""Records as the webhook protocol writes them: ExternalDNS's Endpoint, in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from seamark.providers.dns.domains import Domains
from seamark.providers.dns.model import Change, Part, Record
from seamark.providers.dns.targets import BadTarget, canonical
from seamark.providers.dns.txt import TYPES
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name, folded

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
DOTTED = ("SRV", "NAPTR")
HERITAGE = "heritage="
STAR = "0"  # stands for a * that is not a label of its own, where a name is checked
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
    spelled = dict(record.spelled)
    return Endpoint(
        dns_name=record.name,
        targets=tuple(spelled.get(target) or _written(record.type, target) for target in record.targets),
        record_type=record.type,
        set_identifier=record.set_identifier,
        record_ttl=record.ttl,
        provider_specific=tuple(Property(*pair) for pair in record.properties) or None,
    )


def record_of(endpoint: Endpoint, *, listed: bool = False) -> Record | None:
    """In our spelling; None for what no DNS server could hold.

    `listed` by a provider, a record of a known type is there, whatever its targets are: an alias has a name in place of
    addresses, and some record sets are listed without targets. As long as it is there it keeps its owner.
    """
    if (endpoint.record_ttl > LONGEST_TTL and not listed) or endpoint.record_type not in TYPES:
        return None
    reading = _as_listed if listed else canonical
    try:
        name = held_name(endpoint.dns_name)
        targets = {
            reading(endpoint.record_type, _read(endpoint.record_type, entry)): entry for entry in endpoint.targets or ()
        }
    except (InvalidDnsName, BadTarget):
        return None
    properties = tuple(sorted((entry.name, entry.value) for entry in endpoint.provider_specific or ()))
    ttl = max(0, endpoint.record_ttl) if endpoint.record_ttl <= LONGEST_TTL else 0
    return Record(
        name,
        endpoint.record_type,
        tuple(sorted(targets)),
        ttl,
        endpoint.set_identifier,
        properties,
        spellings(endpoint.record_type, targets),
    )


def _as_listed(type_: str, target: str) -> str:
    for as_type in (type_, "CNAME"):
        try:
            return canonical(as_type, target)
        except BadTarget:
            continue
    return target


def held_name(text: str) -> str:
    """The one spelling of a name that a name server may hold. Ownership records of wildcards have a `*` inside of a
    label, as in `a-*.example.org`; no object can ask for such a name."""
    try:
        return canonical_name(text)
    except InvalidDnsName:
        if "*" not in text or not text.isascii():
            raise
    plain = canonical_name(text.replace("*", STAR))
    return "".join("*" if star == "*" else letter for letter, star in zip(plain, folded(text), strict=True))


def spellings(type_: str, targets: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Of canonical targets and how they were written: those that would be written otherwise."""
    return tuple(sorted((target, text) for target, text in targets.items() if _written(type_, target) != text))


def ordered(changes: Iterable[Change]) -> tuple[list[Part], list[Part]]:
    """Two messages for a provider that is not atomic: ownership is written first, and removed last."""
    first: list[Part] = []
    last: list[Part] = []
    for change in changes:
        for part in change.parts:
            ownership = part.ownership_of(change)
            early = part.after is None if not ownership else part.after is not None
            (first if early else last).append(part)
    return first, last


def message_of(parts: Iterable[Part]) -> Changes:
    lists: dict[str, list[Endpoint]] = {"create": [], "update_old": [], "update_new": [], "delete": []}
    for part in parts:
        if part.before is None and part.after is not None:
            lists["create"].append(endpoint_of(part.after))
        elif part.after is None and part.before is not None:
            lists["delete"].append(endpoint_of(part.before))
        elif part.before is not None and part.after is not None:
            lists["update_old"].append(endpoint_of(part.before))
            lists["update_new"].append(endpoint_of(part.after))
    return Changes(**{name: tuple(entries) or None for name, entries in lists.items()})


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
