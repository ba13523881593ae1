"""DNS names have one canonical form, whatever spelling they come in; what has none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name, within


def fullwidth(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" and one != "." else one for one in text)


BOOKS = "xn--bcher-kva.example.org"
SPELLINGS = {
    "canonical": BOOKS,
    "upper case A-label": "XN--BCHER-KVA.EXAMPLE.ORG",
    "U-label": "bücher.example.org",
    "upper case U-label": "BÜCHER.Example.Org",
    "decomposed": "bu\u0308cher.example.org",
    "trailing dot": "bücher.example.org.",
    "fullwidth": fullwidth("bücher.example.org"),
    "fullwidth dots": "bücher\uff0eexample\uff0eorg",
    "ideographic full stops": "bücher\u3002example\u3002org",
    "soft hyphen": "bü\u00adcher.example.org",
    "zero-width space": "bü\u200bcher.example.org",
    "variation selector": "bü\ufe0fcher.example.org",
    "surrounding space": " bücher.example.org\n",
    "mixed": fullwidth("XN") + "--bcher-KVA\uff0eEXAMPLE\u3002org.",
}
NEVER = {
    "empty": "",
    "root": ".",
    "two trailing dots": "example.org..",
    "escaped dot": r"books\.example.org",
    "escaped as a number": r"books\046example.org",
    "percent encoded": "books%2eexample.org",
    "zero-width joiner": "boo\u200dks.example.org",
    "right-to-left override": "\u202ebooks.example.org",
    "a NUL": "books\0.example.org",
    "a slash": "books/x.example.org",
    "a lone surrogate": "bo\ud800ks.example.org",
    "an emoji": "☃.example.org",
    "a wildcard alone": "*",
    "a wildcard inside": "a.*.example.org",
    "a wildcard and more": "*a.example.org",
    "a label too long": f"{'a' * 64}.example.org",
    "a U-label too long": f"{'ü' * 60}.example.org",
    "a name too long": ".".join(["a" * 49] * 6),
    "a megabyte": "ü" * 2**20,
}


@pytest.mark.parametrize("name", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_of_a_name_is_the_same_name(name: str) -> None:
    assert canonical_name(name) == BOOKS
    assert canonical_name(f"*.{name}".replace("*. ", "*.")) == f"*.{BOOKS}"


@pytest.mark.parametrize("name", NEVER.values(), ids=NEVER)
def test_what_has_no_canonical_form_is_refused(name: str) -> None:
    with pytest.raises(InvalidDnsName) as refused:
        canonical_name(name)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isascii() or "ü" in str(refused.value)


def test_underscores_and_hyphens_stay() -> None:
    assert canonical_name("_sip._tcp.R3---sn-4g.example.org") == "_sip._tcp.r3---sn-4g.example.org"


@given(st.text(max_size=80))
def test_a_canonical_name_is_its_own_canonical_form(text: str) -> None:
    try:
        name = canonical_name(text)
    except InvalidDnsName:
        return
    assert canonical_name(name) == name
    assert name.isascii()
    assert name == name.lower()


def test_a_name_is_within_a_domain_at_a_label_boundary() -> None:
    assert within("a.example.org", "example.org")
    assert within("example.org", "example.org")
    assert within("anything", "")
    assert not within("badexample.org", "example.org")
