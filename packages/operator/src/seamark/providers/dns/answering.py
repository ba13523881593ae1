"""What an answer of an authoritative name server says about a record. Pure."""

from __future__ import annotations

import ipaddress
from typing import Any

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from seamark.providers.dns.model import Answered, Record
from seamark.providers.dns.rdata import IN, absolute, name_of, target

MOST_SHOWN = 3  # targets of an answer in a message
LONGEST_TARGET = 60  # characters of one


def answered(record: Record, zone: str, response: dns.message.Message) -> Answered:
    """Whether a resolver that gets this response has the record; if not, what it has."""
    difference = differs(record, zone, response)
    if difference and not comparable(record) and _rrset(response.answer, absolute(record.name), record.type):
        return Answered(served=False, comparable=False, message=f"{difference}, which can't be compared")
    return Answered(served=not difference, message=difference)


def comparable(record: Record) -> bool:
    """Whether name servers answer with the targets as they are: with provider properties they may not."""
    if record.set_identifier or record.properties:
        return False
    return record.type not in ("A", "AAAA") or all(map(_is_address, record.targets))


def differs(record: Record, zone: str, response: dns.message.Message) -> str:
    """What the server answers instead of the record; empty if it answers with exactly the record."""
    name = absolute(record.name)
    if record.type == "NS" and not response.answer:
        return _cut(record, name, response)
    if rcode := response.rcode():
        return f"answers {dns.rcode.to_text(rcode)}{_from(zone, response)}"
    if not response.flags & dns.flags.AA:
        return _without_authority(response)
    if record.type != "DNAME" and (found := _first(response.answer, dns.rdatatype.DNAME)):
        return f"answers with the DNAME of {name_of(found.name)} to {_targets(found)}"
    rrset = _rrset(response.answer, name, record.type)
    if rrset is None:
        alias = _rrset(response.answer, name, "CNAME")
        return f"answers with a CNAME to {_targets(alias)}" if alias else f"has no {record.type}{_from(zone, response)}"
    return "" if _spelled(rrset) == set(record.targets) else f"answers {_targets(rrset)}"


def _without_authority(response: dns.message.Message) -> str:
    referral = _first(response.authority, dns.rdatatype.NS)
    if referral is None or response.answer:
        return "answers without authority"
    return f"refers to the name servers of {name_of(referral.name)} ({_targets(referral)})"


def _cut(record: Record, name: dns.name.Name, response: dns.message.Message) -> str:
    """A delegation is answered by the zone above it with a referral."""
    if rcode := response.rcode():
        return f"answers {dns.rcode.to_text(rcode)}"
    rrset = _rrset(response.authority, name, "NS")
    if rrset is None:
        found = _first(response.authority, dns.rdatatype.NS)
        return f"refers to the name servers of {name_of(found.name)}" if found else "has no NS"
    return "" if _spelled(rrset) == set(record.targets) else f"refers to {_targets(rrset)}"


def _from(zone: str, response: dns.message.Message) -> str:
    """The zone that answered, where it is another one: a sub-zone on the same server hides names of the zone above."""
    soa = _first(response.authority, dns.rdatatype.SOA)
    return f" from the zone {name_of(soa.name)}" if zone and soa and name_of(soa.name) != zone else ""


def _first(section: list[dns.rrset.RRset], rdtype: dns.rdatatype.RdataType) -> dns.rrset.RRset | None:
    return next((rrset for rrset in section if rrset.rdtype == rdtype), None)


def _rrset(section: list[dns.rrset.RRset], name: dns.name.Name, type_: str) -> dns.rrset.RRset | None:
    rdtype = dns.rdatatype.from_text(type_)
    return next((rrset for rrset in section if (rrset.rdtype, rrset.rdclass, rrset.name) == (rdtype, IN, name)), None)


def _spelled(rrset: Any) -> set[str]:
    type_ = dns.rdatatype.to_text(rrset.rdtype)
    return {target(type_, rdata) for rdata in rrset}


def _targets(rrset: Any) -> str:
    found = sorted(_spelled(rrset))
    more = f" and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return ", ".join(text[:LONGEST_TARGET] for text in found[:MOST_SHOWN]) + more


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
