"""Which names are served: lists of domains or patterns, as ExternalDNS reads them, applied to canonical names alone.

- A filter fails closed. A name without a canonical form is not served; a filter with an entry that has none is refused
  when it is made, because it is not known what it should exclude.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name, within
from seamark_runtime.untrusted.patterns import MOST_COST, InvalidPattern, Pattern

LONGEST_PATTERN = 10_000


class InvalidFilter(ValueError):
    """A filter that can't be applied: which of its fields, and what is wrong there."""

    def __init__(self, field_name: str, problem: str) -> None:
        super().__init__(f"{field_name}: {problem}")
        self.field_name = field_name
        self.problem = problem


@dataclass(frozen=True)
class Domains:
    """The names in one of `include` (all, if it is empty) and in none of `exclude`.

    - `.example.org` and `*.example.org` mean its subdomains alone.
    - A pattern is used instead of the lists; canonical names are lower case A-labels, so case does not count and
      characters beyond ASCII are refused.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    regex_include: str = ""
    regex_exclude: str = ""
    _lists: tuple[tuple[_Domain, ...], tuple[_Domain, ...]] = field(init=False, repr=False, compare=False)
    _patterns: tuple[Pattern | None, Pattern | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lists = (_domains("include", self.include), _domains("exclude", self.exclude))
        patterns = (_pattern("regex_include", self.regex_include), _pattern("regex_exclude", self.regex_exclude))
        object.__setattr__(self, "_lists", lists)
        object.__setattr__(self, "_patterns", patterns)

    def match(self, name: str) -> bool:
        """Whether the name is served, in whatever spelling it comes."""
        try:
            name = canonical_name(name)
        except InvalidDnsName:
            return False
        wanted, unwanted = self._patterns
        if wanted or unwanted:
            return (wanted is None or wanted.search(name) is not None) and not (unwanted and unwanted.search(name))
        included, excluded = self._lists
        if any(domain.covers(name) for domain in excluded):
            return False
        return not included or any(domain.covers(name) for domain in included)


class _Domain(NamedTuple):
    name: str  # canonical; "" is the root
    itself: bool  # whether the domain itself is meant, too

    def covers(self, name: str) -> bool:
        return within(name, self.name) and (self.itself or name != self.name)


def _domains(field_name: str, texts: Iterable[str]) -> tuple[_Domain, ...]:
    return tuple(_domain(field_name, text) for text in texts if text.strip())


def _domain(field_name: str, text: str) -> _Domain:
    bare = text.strip()
    if bare == ".":
        return _Domain("", itself=True)
    try:
        name = canonical_name(bare.removeprefix("."))
    except InvalidDnsName as error:
        raise InvalidFilter(field_name, f"{text[:80]!r} {error}") from None
    return _Domain(name.removeprefix("*."), itself=not (bare.startswith(".") or name.startswith("*.")))


def _pattern(field_name: str, text: str) -> Pattern | None:
    if not text:
        return None
    if not text.isascii():
        raise InvalidFilter(field_name, "names are compared as A-labels (xn--...); write the pattern in ASCII")
    if len(text) > LONGEST_PATTERN:
        raise InvalidFilter(field_name, f"has {len(text)} characters; a pattern has at most {LONGEST_PATTERN}")
    try:
        return Pattern(text, ignore_case=True, most=MOST_COST)
    except InvalidPattern as error:
        raise InvalidFilter(field_name, f"is not a valid pattern of RE2: {error}") from None
