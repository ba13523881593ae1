"""Domain filters: applied to canonical names, and closed to whatever has none."""

from __future__ import annotations

import pytest

from seamark.providers.dns.domains import Domains, InvalidFilter
from tests.unit.runtime.untrusted.test_dnsnames import NEVER, SPELLINGS

EXCLUDING = {
    "a U-label": Domains(exclude=("bücher.example.org",)),
    "an A-label": Domains(exclude=("xn--bcher-kva.example.org",)),
    "upper case and a dot": Domains(exclude=("BÜCHER.EXAMPLE.ORG.",)),
    "beside an include": Domains(include=("example.org",), exclude=("Bücher.example.org",)),
    "its subdomains": Domains(exclude=("*.EXAMPLE.org",)),
    "subdomains by a dot": Domains(exclude=(".example\u3002org",)),
    "a pattern": Domains(regex_exclude=r"^XN--bcher-kva\."),
    "a pattern beside another": Domains(regex_include=r"example\.org$", regex_exclude="kva"),
}


@pytest.mark.parametrize("name", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("domains", EXCLUDING.values(), ids=EXCLUDING)
def test_no_spelling_of_an_excluded_name_is_served(domains: Domains, name: str) -> None:
    assert not domains.match(name)
    assert domains.match("other.example.org") is (domains.exclude not in (("*.EXAMPLE.org",), (".example\u3002org",)))


@pytest.mark.parametrize("name", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("included", ["bücher.example.org", "XN--BCHER-KVA.example.org.", ".example.org"])
def test_every_spelling_of_an_included_name_is_served(included: str, name: str) -> None:
    assert Domains(include=(included,)).match(name)


@pytest.mark.parametrize("name", NEVER.values(), ids=NEVER)
def test_a_name_without_a_canonical_form_is_served_by_no_filter(name: str) -> None:
    for domains in (Domains(), Domains(exclude=("example.org",)), Domains(regex_exclude="books")):
        assert not domains.match(name)


def test_the_subdomains_alone_do_not_include_the_domain() -> None:
    assert not Domains(include=("*.example.org",)).match("example.org")
    assert Domains(include=("*.example.org",)).match("*.example.org")


@pytest.mark.parametrize("entry", [r"a\.example.org", "☃.example.org", "a..b", "-", "bo\u200dks.example.org"])
def test_a_filter_with_an_entry_that_is_no_domain_is_refused(entry: str) -> None:
    with pytest.raises(InvalidFilter, match=r"^exclude: "):
        Domains(exclude=("example.net", entry))
    with pytest.raises(InvalidFilter, match=r"^include: "):
        Domains(include=(entry,))


@pytest.mark.parametrize("pattern", ["(", "(?=a)", "bücher", "a" * 20_000])
def test_a_pattern_that_could_exclude_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidFilter, match=r"^regex_exclude: "):
        Domains(regex_exclude=pattern)


def test_blank_entries_say_nothing() -> None:
    assert Domains(include=("", " "), exclude=("",)).match("www.example.org")
    assert not Domains(exclude=(".",)).match("www.example.org")
