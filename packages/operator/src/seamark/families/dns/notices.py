"""Names and annotations of other objects that can't be served: reported as events on these objects. Pure.

Only invalid names are reported. A name outside of our zones may be served by another operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from seamark.families.dns.reading import hidden
from seamark.families.dns.rules import Rules
from seamark.families.dns.sources import SOURCES, SourceKind, duration, listed, names_of, said, type_of
from seamark.providers.dns.targets import BadTarget, canonical
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Wanted
from seamark_runtime.events import Notice
from seamark_runtime.status import NoStatus
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name
from seamark_runtime.view import View

MOST = 5  # problems in one event


@dataclass(frozen=True)
class Seen:
    """What is wrong with the names of an object, in words."""

    problems: tuple[str, ...]


def declarations(rules: Rules) -> tuple[Controller[Seen], ...]:
    return tuple(controller(SOURCES[name], rules) for name in sorted(rules.sources & set(SOURCES)))


def controller(source: SourceKind, rules: Rules) -> Controller[Seen]:
    def observe(_view: View, obj: Any, _results: Results) -> Seen | None:
        found = () if hidden(obj, rules) else tuple(problems(source, obj))
        return Seen(found) if found else None

    return Controller(
        name=f"dnsnotices-{source.name}",
        kind=source.kind,
        optional=(source.kind,) if source.kind.RESOURCE.group == GATEWAY else (),
        observe=observe,
        desire=lambda _seen: Wanted(),
        judge=lambda _seen, _answers: None,
        announce=announce,
        status=NoStatus(),
    )


def announce(seen: Seen, _answers: Answers) -> Iterable[Notice]:
    more = f" (and {len(seen.problems) - MOST} more)" if len(seen.problems) > MOST else ""
    return (Notice("InvalidDNSName", f"Not served in DNS: {'; '.join(seen.problems[:MOST])}{more}"),)


def problems(source: SourceKind, obj: Any) -> Iterator[str]:
    names = names_of(source, obj)
    for name in names:
        try:
            canonical_name(name)
        except InvalidDnsName as error:
            yield f"the name {name[:80]!r} {error}"
    for target in listed(said(obj, "target")) if names else ():
        try:
            canonical(type_of(target), target)
        except BadTarget as error:
            yield f"the annotation target: {error}"
    ttl = said(obj, "ttl")
    if names and ttl and duration(ttl) is None:
        yield f"the annotation ttl: {ttl[:80]!r} is not a number of seconds or a duration such as 1m30s"
