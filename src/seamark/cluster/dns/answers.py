"""From a question on the wire to an answer on the wire."""

from __future__ import annotations

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import structlog

from seamark.cluster.dns.names import Names, Record

log = structlog.get_logger(__name__)

TTL = 5
LARGEST_UDP = 1232
CHAIN = 8  # CNAMEs followed inside the cluster


class Answers:
    """Answers for the cluster's own names with authority. Any other name is refused: nothing is forwarded.

    - A name that exists without records of the type asked for is an empty answer with the zone's SOA; one that does
      not exist is NXDOMAIN with it.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._zone = dns.name.from_text(names.domain)

    def reply(self, wire: bytes, *, stream: bool) -> bytes | None:
        """The answer to a packet; None where there is nobody to answer (no DNS message, or itself an answer)."""
        try:
            query = dns.message.from_wire(wire, ignore_trailing=True)
        except dns.exception.DNSException:
            return _malformed(wire)
        if query.flags & dns.flags.QR:
            return None
        try:
            response = self.answer(query)
        except Exception:  # an object whose words are no DNS name fails its own questions, nobody else's
            log.exception("a question could not be answered", question=str(query.question))
            response = dns.message.make_response(query)
            response.set_rcode(dns.rcode.SERVFAIL)
        if stream:
            return response.to_wire(max_size=65535)
        size = min(LARGEST_UDP, max(512, query.payload)) if query.edns >= 0 else 512
        try:
            return response.to_wire(max_size=size)
        except dns.exception.TooBig:
            short = dns.message.make_response(query)
            short.flags |= dns.flags.TC | dns.flags.AA
            return short.to_wire()

    def answer(self, query: dns.message.Message) -> dns.message.Message:
        response = dns.message.make_response(query, our_payload=LARGEST_UDP)
        if query.opcode() != dns.opcode.QUERY:
            response.set_rcode(dns.rcode.NOTIMP)
        elif len(query.question) != 1:
            response.set_rcode(dns.rcode.FORMERR)
        elif query.question[0].rdclass != dns.rdataclass.IN or not query.question[0].name.is_subdomain(self._zone):
            response.set_rcode(dns.rcode.REFUSED)
        else:
            response.flags |= dns.flags.AA
            self._fill(response, query.question[0])
        return response

    def _fill(self, response: dns.message.Message, question: dns.rrset.RRset) -> None:
        name, wanted = question.name, question.rdtype
        records = self._find(name)
        if records is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        for _ in range(CHAIN):
            _add(response, name, [one for one in records or () if _fits(one, wanted)])
            target = next((one.text for one in records or () if one.type == "CNAME"), None)
            if target is None or wanted == dns.rdatatype.CNAME:
                break
            name = dns.name.from_text(target)
            records = self._find(name) if name.is_subdomain(self._zone) else None
        if question.name == self._zone and wanted == dns.rdatatype.SOA:
            response.answer.append(self._soa())
        elif not response.answer:
            response.authority.append(self._soa())

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
    for kind in dict.fromkeys(record.type for record in records):
        texts = [record.text for record in records if record.type == kind]
        response.answer.append(dns.rrset.from_text(name, TTL, "IN", kind, *texts))


def _malformed(wire: bytes) -> bytes | None:
    """FORMERR for a question that can't be read; a packet that is too short, or an answer, gets none."""
    if len(wire) < 12 or wire[2] & 0x80:
        return None
    return wire[:2] + bytes((0x80 | (wire[2] & 0x79), 0x01)) + bytes(8)
