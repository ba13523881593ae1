"""Ownership records: names and values as ExternalDNS writes and reads them."""

from __future__ import annotations

import base64
import gzip

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from seamark.providers.dns.txt import LARGEST, TYPES, BadAffix, Names, Values, key_from, label_problem

KEY = b"0123456789abcdef0123456789abcdef"
TEXT = "heritage=external-dns,external-dns/owner=me,external-dns/resource=crd/default/www"


@pytest.mark.parametrize(
    ("names", "record", "type_", "expected"),
    [
        (Names(), "www.example.org", "A", "a-www.example.org"),
        (Names(), "www.example.org", "AAAA", "aaaa-www.example.org"),
        (Names(), "example.org", "CNAME", "cname-example.org"),
        (Names(prefix="txt."), "www.example.org", "A", "txt.a-www.example.org"),
        (Names(prefix="Own-"), "www.example.org", "A", "own-a-www.example.org"),
        (Names(suffix="-txt"), "www.example.org", "A", "a-www-txt.example.org"),
        (Names(prefix="%{record_type}-own-"), "www.example.org", "A", "a-own-www.example.org"),
        (Names(suffix="-%{record_type}"), "www.example.org", "CNAME", "www-cname.example.org"),
        (Names(), "*.example.org", "A", "a-*.example.org"),
        (Names(wildcard="any"), "*.example.org", "A", "a-any.example.org"),
        (Names(wildcard="Any"), "*.example.org", "A", "a-any.example.org"),
        (Names(suffix="-txt"), "my-txt-server.example.org", "A", "a-my-txt-server-txt.example.org"),
        (Names(suffix="-txt"), "x-txt.example.org", "A", "a-x-txt-txt.example.org"),
        (Names(suffix="-txt"), "www.x-txt.example.org", "A", "a-www-txt.x-txt.example.org"),
        (Names(suffix="-%{record_type}.own"), "www.example.org", "A", "www-a.own.example.org"),
        (Names(suffix="-%{record_type}.own"), "www-a.own.example.org", "A", "www-a-a.own.own.example.org"),
        (Names(prefix="%{record_type}"), "www.example.org", "AAAA", "aaaawww.example.org"),
        (Names(suffix="%{record_type}"), "www.example.org", "NAPTR", "wwwnaptr.example.org"),
    ],
)
def test_the_ownership_record_of_a_record_is_where_external_dns_looks_for_it(
    names: Names, record: str, type_: str, expected: str
) -> None:
    assert names.of(record, type_) == expected
    assert names.owned(expected) == (record, type_)


def test_a_prefix_and_a_suffix_exclude_each_other() -> None:
    with pytest.raises(BadAffix, match="exclude each other"):
        Names(prefix="a", suffix="b")


def test_older_names_have_no_type_and_there_are_none_for_aaaa() -> None:
    assert Names(prefix="txt-").older("www.example.org", "A") == "txt-www.example.org"
    assert Names(suffix="-txt").older("www.example.org", "CNAME") == "www-txt.example.org"
    assert Names().older("www.example.org", "AAAA") is None
    assert Names(prefix="txt-").owned("txt-www.example.org") is None


@pytest.mark.parametrize(
    "names",
    [Names(), Names(prefix="txt."), Names(suffix="-txt"), Names(suffix="-%{record_type}"), Names(wildcard="any")],
    ids=str,
)
@pytest.mark.parametrize("name", ["www.example.org", "*.example.org", "example.org"])
def test_an_older_name_leads_back_to_those_it_may_be_about(names: Names, name: str) -> None:
    place = names.older(name, "A")
    assert place is not None
    assert name in names.younger(place)


AFFIXES = st.sampled_from(
    [
        Names(wildcard="Any"),
        *(Names(prefix=prefix) for prefix in ("txt-", "Txt.", "%{record_type}-x-", "%{record_type}.", "a-")),
        *(Names(suffix=suffix) for suffix in ("-txt", "-Txt.own", "-%{record_type}", "-%{record_type}.x")),
    ]
)
WORDS = st.sampled_from(["txt", "x", "a", "aaaa", "cname", "own", "b7", "srv"])
LABEL = st.lists(WORDS, min_size=1, max_size=4).map("-".join)


@given(AFFIXES, LABEL | st.just("*"), LABEL, st.sampled_from(TYPES))
def test_every_ownership_name_leads_back_to_its_record(names: Names, first: str, rest: str, type_: str) -> None:
    name = f"{first}.{rest}.test"
    assert (name, type_) in names.owners(names.of(name, type_))


def test_a_name_with_the_wildcard_replacement_shares_its_ownership_record_with_the_wildcard() -> None:
    names = Names(wildcard="any")
    assert names.owners("a-any.example.org") == (("*.example.org", "A"), ("any.example.org", "A"))
    assert names.other_owner("any.example.org") == "*.example.org"
    assert names.other_owner("*.example.org") == "any.example.org"
    assert names.other_owner("www.example.org") is None
    assert Names().other_owner("*.example.org") is None


def test_the_value_has_its_keys_sorted() -> None:
    assert Values().encode({"resource": "crd/default/www", "owner": "me"}) == TEXT


def test_a_value_is_read_with_and_without_its_quotes() -> None:
    expected = {"owner": "me", "resource": "crd/default/www"}
    assert Values().decode(TEXT) == expected
    assert Values().decode(f'"{TEXT}"') == expected


@pytest.mark.parametrize("value", ["v=spf1 -all", "", "heritage=other,other/owner=me", "external-dns/owner=me", "=,=="])
def test_other_texts_are_nobodys_ownership(value: str) -> None:
    assert Values().decode(value) is None
    assert Values(KEY).decode(value) is None


def test_an_encrypted_value_is_nonce_and_ciphertext_of_gzip_in_base64() -> None:
    value = Values(KEY).encode({"owner": "me", "resource": "crd/default/www"})
    raw = base64.b64decode(value)
    assert gzip.decompress(AESGCM(KEY).decrypt(raw[:12], raw[12:], None)).decode() == TEXT
    assert Values(KEY).decode(value) == {"owner": "me", "resource": "crd/default/www"}
    assert value == Values(KEY).encode({"owner": "me", "resource": "crd/default/www"})


def test_a_value_that_somebody_else_encrypted_is_read() -> None:
    nonce = b"twelve bytes"
    sealed = AESGCM(KEY).encrypt(nonce, gzip.compress(f'"{TEXT}"'.encode()), None)
    assert Values(KEY).decode(base64.b64encode(nonce + sealed).decode()) == {
        "owner": "me",
        "resource": "crd/default/www",
    }


def test_with_a_key_plain_values_are_still_read_and_without_one_encrypted_ones_are_foreign() -> None:
    assert Values(KEY).decode(TEXT) == {"owner": "me", "resource": "crd/default/www"}
    assert Values().decode(Values(KEY).encode({"owner": "me"})) is None
    assert Values(b"x" * 32).decode(Values(KEY).encode({"owner": "me"})) is None


def test_two_texts_never_share_a_nonce() -> None:
    first, second = (base64.b64decode(Values(KEY).encode({"owner": owner}))[:12] for owner in ("one", "two"))
    assert first != second


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.from_regex(r"[a-z0-9/._-]{0,20}", fullmatch=True))
)
def test_labels_survive_the_way_there_and_back(labels: dict[str, str]) -> None:
    assert Values().decode(Values().encode(labels)) == labels
    assert Values(KEY).decode(Values(KEY).encode(labels)) == labels


ANY_LABELS = st.dictionaries(st.text(max_size=12) | st.sampled_from(["owner", "x"]), st.text(max_size=20), max_size=4)
HOSTILE = [
    "1,external-dns/owner=zzz",
    "1,external-dns/resource=crd/b/www",
    "a=b",
    'a"',
    "a\\",
    "a\n",
    "a\x7f",
    "ä",
    " a",
]


@given(ANY_LABELS | st.dictionaries(st.sampled_from(HOSTILE), st.sampled_from(HOSTILE)))
def test_whatever_labels_are_given_what_is_read_is_what_was_accepted(labels: dict[str, str]) -> None:
    accepted = {name: value for name, value in labels.items() if not label_problem(name, value)}
    for values in (Values(), Values(KEY)):
        ours = {"owner": "me", "resource": "crd/default/www"}
        assert values.decode(values.encode({**labels, **ours})) == {**accepted, **ours}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_label_that_would_end_before_its_end_is_not_carried(text: str) -> None:
    assert label_problem("x", text)
    assert label_problem(text, "x")


AMBIGUOUS = {
    "two owners": f"{TEXT},external-dns/owner=zzz",
    "the same owner twice": f"{TEXT},external-dns/owner=me",
    "two objects": f"{TEXT},external-dns/resource=crd/tenant-b/www",
    "a second owner that ExternalDNS would skip": f"{TEXT},external-dns/owner=zzz=1",
    "an owner that ExternalDNS would skip": "heritage=external-dns,external-dns/owner=zzz=1",
    "any label twice": f"{TEXT},external-dns/x=1,external-dns/x=1",
    "two heritages": f"heritage=external-dns,{TEXT}",
}


@pytest.mark.parametrize("text", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_text_that_says_something_twice_is_not_trusted_and_nobody_may_ask_for_it(text: str) -> None:
    for values in (Values(), Values(KEY)):
        assert values.decode(text) is None
        assert values.reserved(text)


def test_what_externaldns_writes_and_skips_itself_is_read() -> None:
    text = f"{TEXT},external-dns/a=1,2,external-dns/b=c=d,external-dns/empty="
    assert Values().decode(text) == {"owner": "me", "resource": "crd/default/www", "a": "1", "empty": ""}


def test_an_encrypted_text_that_is_too_long_to_be_read_whole_is_not_trusted() -> None:
    nonce = b"twelve bytes"
    padded = f"{TEXT},external-dns/x={'x' * LARGEST},external-dns/owner=zzz"
    sealed = AESGCM(KEY).encrypt(nonce, gzip.compress(padded.encode()), None)
    assert Values(KEY).decode(base64.b64encode(nonce + sealed).decode()) is None


def test_a_key_is_32_characters_or_32_bytes_in_base64() -> None:
    assert key_from(KEY.decode()) == KEY
    assert key_from(base64.b64encode(KEY).decode()) == KEY
    for bad in ("short", base64.b64encode(b"short").decode(), "!" * 44):
        with pytest.raises(ValueError, match="32 bytes"):
            key_from(bad)


@given(st.text() | st.from_regex(r"[A-Za-z0-9+/=]{0,80}", fullmatch=True))
def test_any_text_is_an_ownership_record_or_nobodys(text: str) -> None:
    for values in (Values(), Values(KEY)):
        assert values.decode(text) is None or text.count("heritage=")
    for names in (Names(), Names(prefix="%{record_type}-x."), Names(suffix="-x")):
        names.owned(text)
        names.younger(text)
