"""Records to and from the rdata of the DNS protocol."""

from __future__ import annotations

from typing import Any

import dns.name
import dns.node
import dns.rdata
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.rdtypes.ANY.TXT
import dns.rdtypes.IN.A
import dns.rdtypes.IN.AAAA

from seamark.providers.dns.model import Record

IN = dns.rdataclass.IN
# What a server makes by itself beside the records that people keep.
MACHINERY = frozenset(("SOA", "RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "CDS", "CDNSKEY", "TYPE65534"))


def name_of(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower()


def absolute(name: str) -> dns.name.Name:
    return dns.name.from_text(name)


def records(name: dns.name.Name, node: dns.node.Node) -> tuple[Record, ...]:
    """What a node of a zone holds, the server's own machinery left out."""
    text = name_of(name)
    found = []
    for rdataset in node.rdatasets:
        type_ = dns.rdatatype.to_text(rdataset.rdtype)
        if type_ not in MACHINERY and len(rdataset):
            targets = tuple(sorted(target(type_, rdata) for rdata in rdataset))
            found.append(Record(text, type_, targets, rdataset.ttl))
    return tuple(sorted(found, key=lambda record: record.type))


def target(type_: str, rdata: Any) -> str:  # noqa: PLR0911 - one answer for each type
    """In the spelling of `targets.canonical`."""
    match type_:
        case "A" | "AAAA":
            return str(rdata.address)
        case "CNAME" | "DNAME" | "NS" | "PTR":
            return _host(rdata.target)
        case "MX":
            return f"{rdata.preference} {_host(rdata.exchange)}"
        case "SRV":
            return f"{rdata.priority} {rdata.weight} {rdata.port} {_host(rdata.target)}"
        case "TXT":
            return b"".join(rdata.strings).decode("utf-8", "surrogateescape")
        case "NAPTR":
            flags, service, regexp = (_quoted(part) for part in (rdata.flags, rdata.service, rdata.regexp))
            return f'{rdata.order} {rdata.preference} "{flags}" "{service}" "{regexp}" {_host(rdata.replacement)}'
        case _:
            return str(rdata.to_text())


def rdataset(record: Record, ttl: int) -> dns.rdataset.Rdataset:
    made = [_rdata(record.type, target_text) for target_text in record.targets]
    return dns.rdataset.from_rdata_list(ttl, made)


def _rdata(type_: str, text: str) -> dns.rdata.Rdata:
    """The types that most records have are made without a parser: it would take most of an update's time."""
    match type_:
        case "A":
            return dns.rdtypes.IN.A.A(IN, dns.rdatatype.A, text)  # type: ignore[no-untyped-call]  # dnspython
        case "AAAA":
            return dns.rdtypes.IN.AAAA.AAAA(IN, dns.rdatatype.AAAA, text)  # type: ignore[no-untyped-call]  # too
        case "TXT":
            raw = text.encode("utf-8", "surrogateescape")
            strings = [raw[start : start + 255] for start in range(0, len(raw), 255)] or [b""]
            return dns.rdtypes.ANY.TXT.TXT(IN, dns.rdatatype.TXT, strings)
        case _:
            return dns.rdata.from_text(IN, dns.rdatatype.from_text(type_), _wire_text(text))


def _host(name: dns.name.Name) -> str:
    return "." if name == dns.name.root else name_of(name)


def _quoted(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").replace("\\", "\\\\").replace('"', '\\"')


def _wire_text(text: str) -> str:
    """As a zone file would have it: the name at its end is absolute."""
    return text if text.endswith(".") else f"{text}."
