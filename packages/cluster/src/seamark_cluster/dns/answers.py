"""Answers to DNS queries for the names of the cluster."""

from __future__ import annotations

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from seamark_cluster.dns.names import Names, Record

TTL = 5
MAX_CNAMES = 8  # followed inside the cluster's domain, per query


class Answers:
    """Authoritative answers for the cluster's domain. Any other name is refused: nothing is forwarded.

    - A name that exists without records of the requested type gets an empty answer with the zone's SOA; one that does
      not exist gets NXDOMAIN with it.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._zone = dns.name.from_text(names.domain)

    def fill(self, question: dns.rrset.RRset, response: dns.message.Message) -> None:
        if not question.name.is_subdomain(self._zone):
            response.set_rcode(dns.rcode.REFUSED)
            return
        response.flags |= dns.flags.AA
        self._follow(response, question.name, question.rdtype)
        if question.name == self._zone and question.rdtype == dns.rdatatype.SOA:
            response.answer.append(self._soa())
        elif not response.answer:
            response.authority.append(self._soa())

    def _follow(self, response: dns.message.Message, name: dns.name.Name, wanted: dns.rdatatype.RdataType) -> None:
        """Adds the records of a name, and those that its CNAMEs lead to."""
        records = self._find(name)
        if records is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        for _ in range(MAX_CNAMES):
            _add(response, name, [record for record in records or () if _fits(record, wanted)])
            target = next((record.text for record in records or () if record.type == "CNAME"), None)
            if target is None or wanted == dns.rdatatype.CNAME:
                break
            name = dns.name.from_text(target)
            records = self._find(name) if name.is_subdomain(self._zone) else None

    def _find(self, name: dns.name.Name) -> list[Record] | None:
        labels = name.relativize(self._zone).labels
        try:
            return self._names.find([label.decode("ascii").lower() for label in labels if label])
        except UnicodeDecodeError:
            return None

    def _soa(self) -> dns.rrset.RRset:
        zone = self._names.domain
        text = f"ns.dns.{zone}. hostmaster.{zone}. 1 7200 1800 86400 {TTL}"
        return dns.rrset.from_text(self._zone, TTL, "IN", "SOA", text)


def _fits(record: Record, wanted: dns.rdatatype.RdataType) -> bool:
    return record.type == "CNAME" or wanted in (dns.rdatatype.ANY, dns.rdatatype.from_text(record.type))


def _add(response: dns.message.Message, name: dns.name.Name, records: list[Record]) -> None:
    for type_ in dict.fromkeys(record.type for record in records):
        texts = [record.text for record in records if record.type == type_]
        response.answer.append(dns.rrset.from_text(name, TTL, "IN", type_, *texts))
