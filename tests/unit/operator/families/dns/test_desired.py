"""Which records are accepted (docs/spec/dns/dnsendpoint.md, rules 1 to 7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.api.dns import Endpoint, ProviderSpecific
from seamark.families.dns.model.desired import DesiredRecord, Problem, desired_record
from seamark.families.dns.model.selector import Selector
from seamark.providers.dns.domains import Domains
from seamark.providers.dns.txt import TYPES, Names
from tests.unit.operator.families.dns.zones import rules
from tests.unit.runtime.untrusted.test_dnsnames import SPELLINGS

ZONES = ("org", "example.org", "arpa")
EVERYWHERE = rules(zones=ZONES)
BELOW = rules(zones=ZONES, names=Names(prefix="txt-%{record_type}."))  # ownership records below their records' names


def desired(name: str, type_: str, *targets: str, **more: Any) -> DesiredRecord | Problem:
    return desired_record(0, Endpoint(dns_name=name, record_type=type_, targets=targets, **more), EVERYWHERE)


GOOD = [
    ("WWW.Example.org", "A", ["192.0.2.1"], "www.example.org", ["192.0.2.1"]),
    ("www.example.org.", "A", ["192.0.2.2", "192.0.2.1", "192.0.2.1"], "www.example.org", ["192.0.2.1", "192.0.2.2"]),
    ("www.example.org", "AAAA", ["2001:DB8:0::1"], "www.example.org", ["2001:db8::1"]),
    ("bücher.example.org", "CNAME", ["Faß.example.net."], "xn--bcher-kva.example.org", ["xn--fa-hia.example.net"]),
    ("*.example.org", "A", ["192.0.2.1"], "*.example.org", ["192.0.2.1"]),
    ("_sip._tcp.example.org", "SRV", ["1 2 3 Host.example.net."], "_sip._tcp.example.org", ["1 2 3 host.example.net"]),
    ("example.org", "MX", ["10 Mail.example.net"], "example.org", ["10 mail.example.net"]),
    ("example.org", "MX", ["0 ."], "example.org", ["0 ."]),
    ("example.org", "TXT", ['"v=spf1" " -all"'], "example.org", ["v=spf1 -all"]),
    ("example.org", "TXT", ["plain."], "example.org", ["plain."]),
    ("1.2.0.192.in-addr.arpa", "PTR", ["www.example.net"], "1.2.0.192.in-addr.arpa", ["www.example.net"]),
    ("child.example.org", "NS", ["ns.example.net"], "child.example.org", ["ns.example.net"]),
    ("tree.example.org", "DNAME", ["example.net."], "tree.example.org", ["example.net"]),
    (
        "example.org",
        "NAPTR",
        ['10 20 "S" "SIP+D2U" "" _sip._udp.example.net.'],
        "example.org",
        ['10 20 "S" "SIP+D2U" "" _sip._udp.example.net'],
    ),
]


@pytest.mark.parametrize(("name", "type_", "targets", "normal", "canonical"), GOOD)
def test_this_is_accepted_in_one_spelling(
    name: str, type_: str, targets: list[str], normal: str, canonical: list[str]
) -> None:
    endpoint = Endpoint(dns_name=name, record_type=type_, targets=tuple(targets))
    found = desired_record(0, endpoint, BELOW if name == "example.org" else EVERYWHERE)
    assert isinstance(found, DesiredRecord), found
    assert (found.record.name, found.record.targets) == (normal, tuple(canonical))


OWNERSHIP = '"heritage=external-dns,external-dns/owner=default,external-dns/resource=crd/shop/web"'
BAD = {
    "an ownership record": (("a-www.example.org", "TXT", OWNERSHIP), "targets: heritage=external-dns is reserved"),
    "one in parts": (("a-www.example.org", "TXT", '"heritage=exter" "nal-dns"'), "is reserved for ownership records"),
    "an ambiguous one": (
        ("a-w.example.org", "TXT", f"{OWNERSHIP[1:-1]},external-dns/owner=me"),
        "is reserved for owner",
    ),
    "no name": (("", "A", "192.0.2.1"), "dnsName: '' must not be empty"),
    "an empty label": (("www..example.org", "A", "192.0.2.1"), "has an empty label"),
    "a label over 63": ((f"{'a' * 64}.example.org", "A", "192.0.2.1"), "a label has at most 63"),
    "a name over 253": ((".".join(["a" * 49] * 6), "A", "192.0.2.1"), "a name has at most 253"),
    "a space in a name": (("w w.example.org", "A", "192.0.2.1"), "dnsName: 'w w.example.org' has the label 'w w'"),
    "a star in the middle": (("a.*.example.org", "A", "192.0.2.1"), "has the label '*'"),
    "no type": (("www.example.org", "", "192.0.2.1"), "recordType: must be one of A, AAAA"),
    "a type that is not known": (("www.example.org", "SPF", "x"), "recordType: 'SPF' is not one of"),
    "no targets": (("www.example.org", "A"), "targets: must not be empty"),
    "no address": (("www.example.org", "A", "192.0.2.1", "no"), "targets[1]: 'no' is not an IPv4 address"),
    "the other family": (("www.example.org", "A", "2001:db8::1"), "is an IPv6 address, and the record needs IPv4"),
    "an address with a dot": (("www.example.org", "A", "192.0.2.1."), "must not end with a dot"),
    "an address with a scope": (("www.example.org", "AAAA", "fe80::1%eth0"), "has a scope"),
    "a name server with a dot": (("www.example.org", "NS", "ns.example.net."), "must not end with a dot"),
    "the zone as a cut": (("example.org", "NS", "ns.example.net"), "dnsName: example.org is the zone itself"),
    "the zone as an alias": (("org", "DNAME", "example.net"), "dnsName: org is the zone itself"),
    "two targets of a CNAME": (("www.example.org", "CNAME", "a.test", "b.test"), "a CNAME has one target"),
    "a bad name as target": (("www.example.org", "CNAME", "a b"), "targets[0]: 'a b' has the label 'a b'"),
    "MX without a preference": (("www.example.org", "MX", "mail.example.net"), "is not `preference name`"),
    "MX out of range": (("www.example.org", "MX", "70000 mail.example.net"), "is not a number from 0 to 65535"),
    "MX of 1,000 digits": (
        ("a.example.org", "MX", f"{'1' * 1000} b.test"),
        "targets[0]: the preference '111",
    ),
    "SRV of 1,000 digits": (("www.example.org", "SRV", f"1 {'1' * 1000} 1 a.test."), "targets[0]: the weight '111"),
    "NAPTR of 1,000 digits": (("a.org", "NAPTR", f'{"1" * 1000} 2 "S" "" "" a.test.'), "targets[0]: the order '111"),
    "MX of 5,000 digits": (
        ("a.example.org", "MX", f"{'1' * 5000} b.test"),
        "5007 characters; at most 2048 are allowed",
    ),
    "an escaped dot": ((r"a\.example.org", "A", "192.0.2.1"), "dnsName: 'a\\\\.example.org' has the label"),
    "a zero-width joiner": (("a\u200db.example.org", "A", "192.0.2.1"), "a label that can't be a domain name"),
    "a wildcard alone": (("*", "A", "192.0.2.1"), "has the label '*'"),
    "SRV without its dot": (("www.example.org", "SRV", "1 2 3 host.example.net"), "with the dot at the end"),
    "SRV with too little": (("www.example.org", "SRV", "1 2 host.example.net."), "priority weight port name."),
    "NAPTR without its dot": (("www.example.org", "NAPTR", '1 2 "S" "" "" a.test'), "with the dot at the end"),
    "PTR elsewhere": (("www.example.org", "PTR", "a.test"), "dnsName: www.example.org is not under in-addr.arpa"),
    "ten thousand targets": (
        ("www.example.org", "A", *(f"10.0.{n // 250}.{n % 250}" for n in range(10_000))),
        "targets: has 10000 entries; at most 1000",
    ),
    "too much text": (("www.example.org", "TXT", "x" * 5000), "at most 4000 are served"),
    "too many bytes": (("www.example.org", "TXT", *(f"{n:04}" * 100 for n in range(100))), "fit in an answer"),
    "no room for its ownership": ((f"{'a' * 62}.example.org", "A", "192.0.2.1"), "leaves no room for its ownership"),
}


BAD_LABELS = {
    "another owner in a value": ({"x": "1,external-dns/owner=zzz"}, "the value of 'x' must be printable ASCII without"),
    "another object in a value": ({"x": "1,external-dns/resource=crd/tenant-b/www"}, "the value of 'x' must be"),
    "another owner in a key": ({"x=1,external-dns/owner": "zzz"}, "the key 'x=1,external-dns/owner' must be"),
    "a line break": ({"x": "a\nb"}, "must be printable ASCII"),
    "a quote": ({"x": 'a"'}, "without commas, quotes"),
    "an empty key": ({"": "x"}, "a key must not be empty"),
    "a space at the end": ({"x": "y "}, "must not begin or end with a space"),
    "too much of it": ({"x": "y" * 2000}, "have 2001 characters together; at most 2000"),
}


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_a_label_that_an_ownership_record_cant_carry_is_reported(labels: dict[str, str], message: str) -> None:
    """Rule 37."""
    found = desired("www.example.org", "A", "192.0.2.1", labels=labels)
    assert isinstance(found, Problem)
    assert (found.reason, found.slot) == ("Invalid", ("www.example.org", "A", ""))
    assert found.message.startswith("spec.endpoints[0].labels: ")
    assert message in found.message


def test_labels_for_the_owner_and_the_object_are_ours_to_set() -> None:
    """Rule 37."""
    found = desired(
        "www.example.org", "A", "192.0.2.1", labels={"owner": "zzz", "resource": "crd/b/www", "team": "a b"}
    )
    assert isinstance(found, DesiredRecord)
    assert found.labels == (("team", "a b"),)


def test_without_ownership_records_labels_go_nowhere_and_all_are_accepted() -> None:
    """Rules 17 and 37."""
    endpoint = Endpoint(dns_name="www.example.org", record_type="A", targets=("192.0.2.1",), labels={"x": "a,b"})
    found = desired_record(0, endpoint, rules(registry="noop"))
    assert isinstance(found, DesiredRecord)
    assert found.labels == ()


@pytest.mark.parametrize(("given_", "message"), BAD.values(), ids=BAD)
def test_this_is_reported_with_its_field(given_: tuple[str, ...], message: str) -> None:
    found = desired(*given_)
    assert isinstance(found, Problem)
    assert found.reason == "Invalid"
    assert found.message.startswith("spec.endpoints[0].")
    assert message in found.message


@pytest.mark.parametrize("ttl", [-1, 2**31])
def test_a_ttl_has_bounds(ttl: int) -> None:
    found = desired("www.example.org", "A", "192.0.2.1", record_ttl=ttl)
    assert isinstance(found, Problem)
    assert f"recordTTL: {ttl} is not from 0" in found.message


@given(st.text(max_size=40), st.sampled_from([*TYPES, "", "x"]), st.lists(st.text(max_size=40), max_size=3))
def test_whatever_people_write_has_an_answer(name: str, type_: str, targets: list[str]) -> None:
    found = desired(f"{name}.example.org", type_, *targets)
    assert isinstance(found, DesiredRecord | Problem)
    if isinstance(found, DesiredRecord):
        again = desired(found.record.name, type_, *(dotted(type_, target) for target in found.record.targets))
        assert isinstance(again, DesiredRecord)
        assert again.record == found.record


def dotted(type_: str, target: str) -> str:
    return f"{target}." if type_ in ("SRV", "NAPTR") and not target.endswith(".") else target


def test_the_longest_zone_that_a_name_is_in_is_its_zone_at_a_label_boundary() -> None:
    zones = {
        name: found.zone
        for name in ("a.example.org", "badexample.org")
        if isinstance(found := desired(name, "A", "192.0.2.1"), DesiredRecord)
    }
    assert zones == {"a.example.org": "example.org", "badexample.org": "org"}


@pytest.mark.parametrize(
    ("domains", "served"),
    [
        (Domains(), True),
        (Domains(include=("example.org",)), True),
        (Domains(include=("ample.org",)), False),
        (Domains(include=(".www.example.org",)), False),
        (Domains(include=(".example.org",)), True),
        (Domains(exclude=("example.org",)), False),
        (Domains(include=("example.org",), exclude=("www.example.org",)), False),
        (Domains(regex_include=r"^www\."), True),
        (Domains(regex_include=r"\.net$"), False),
        (Domains(regex_exclude=r"example"), False),
    ],
)
def test_a_domain_filter_decides_which_names_are_served(domains: Domains, served: bool) -> None:
    found = desired_record(
        0, Endpoint(dns_name="www.example.org", record_type="A", targets=("192.0.2.1",)), rules(domains=domains)
    )
    assert isinstance(found, DesiredRecord) is served
    assert served or (isinstance(found, Problem) and found.reason == "Filtered")


@pytest.mark.parametrize("name", SPELLINGS.values(), ids=SPELLINGS)
def test_an_excluded_domain_is_served_in_no_spelling_and_the_object_is_refused(name: str) -> None:
    endpoint = Endpoint(dns_name=f"www.{name.strip()}", record_type="A", targets=("192.0.2.1",))
    for excluded in ("bücher.example.org", "XN--BCHER-KVA.example.org."):
        found = desired_record(0, endpoint, rules(domains=Domains(exclude=(excluded,))))
        assert isinstance(found, Problem)
        assert found.reason == "Filtered"
        assert "www.xn--bcher-kva.example.org is outside of the domains" in found.message
    assert isinstance(desired_record(0, endpoint, rules()), DesiredRecord)


def test_what_is_not_accepted_still_has_its_slot_so_that_the_record_is_kept() -> None:
    found = desired("WWW.example.org", "A", "nonsense")
    assert isinstance(found, Problem)
    assert found.slot == ("www.example.org", "A", "")


def test_the_least_ttl_lifts_only_a_ttl_that_is_set() -> None:
    def ttl(wanted: int) -> int:
        endpoint = Endpoint(dns_name="www.example.org", record_type="A", targets=("192.0.2.1",), record_ttl=wanted)
        found = desired_record(0, endpoint, rules(min_ttl=60))
        assert isinstance(found, DesiredRecord)
        return found.record.ttl

    assert (ttl(0), ttl(5), ttl(300)) == (0, 60, 300)


def test_a_prefix_may_leave_no_room() -> None:
    endpoint = Endpoint(dns_name=f"{'a' * 55}.example.org", record_type="A", targets=("192.0.2.1",))
    assert isinstance(desired_record(0, endpoint, rules()), DesiredRecord)
    assert isinstance(desired_record(0, endpoint, rules(names=Names(prefix="ownership-"))), Problem)


@pytest.mark.parametrize(
    ("selector", "matches"),
    [("", True), ("a=1", True), ("a==1,b", True), ("a!=1", False), ("!c", True), ("!a", False), ("c", False)],
)
def test_a_selector_must_hold_wholly(selector: str, matches: bool) -> None:
    assert Selector.parse(selector).match({"a": "1", "b": ""}) is matches


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"set_identifier": "east"}, "spec.endpoints[0].setIdentifier: 'east': a name server has one record set"),
        (
            {"provider_specific": (ProviderSpecific(name="aws/weight", value="1"),)},
            "spec.endpoints[0].providerSpecific: aws/weight: a name server has no such properties; remove them",
        ),
    ],
)
def test_what_the_provider_has_no_means_for_is_not_dropped(field: dict[str, Any], message: str) -> None:
    """Rule 44."""
    found = desired("www.example.org", "A", "192.0.2.1", **field)
    assert isinstance(found, Problem)
    assert (found.reason, found.slot) == ("Unsupported", ("www.example.org", "A", ""))
    assert found.message.startswith(message)


def test_a_record_of_the_zone_itself_needs_an_ownership_record_inside_of_the_zone() -> None:
    """Rule 62: the server would answer NOTZONE for ever."""
    at_zone = Endpoint(dns_name="example.org", record_type="A", targets=("192.0.2.1",))
    found = desired_record(0, at_zone, rules())
    assert isinstance(found, Problem)
    assert found.reason == "Invalid"
    assert found.message == (
        "spec.endpoints[0].dnsName: the ownership record of example.org would be a-example.org, outside of the zone "
        "example.org; set dns_txt_prefix to one that ends with a dot, as in txt-%{record_type}."
    )
    assert found.slot == ("example.org", "A", "")
    assert isinstance(desired_record(0, at_zone, rules(names=Names(prefix="txt-%{record_type}."))), DesiredRecord)
    assert isinstance(desired_record(0, at_zone, rules(registry="noop")), DesiredRecord)
