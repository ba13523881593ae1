"""An object → what is wrong with its names and annotations, as an event. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from seamark.families.dns.sourceobject.state import Seen
from seamark.families.dns.sources.annotations import annotation, duration, listed, properties_of
from seamark.families.dns.sources.endpoints import names_of, type_of
from seamark.families.dns.sources.kinds import SourceKind
from seamark.providers.dns.targets import BadTarget, canonical
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name

MOST = 5  # problems in one event


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(_seen: Seen, _answers: Answers) -> None:
    """Its status is not ours."""


def announce(seen: Seen, _answers: Answers) -> Iterable[Notice]:
    more = f" (and {len(seen.problems) - MOST} more)" if len(seen.problems) > MOST else ""
    return (Notice("InvalidDNSName", f"Not served in DNS: {'; '.join(seen.problems[:MOST])}{more}"),)


def problems(source: SourceKind, obj: Any, *, properties: bool = True) -> Iterator[str]:
    """`properties`: whether the provider has set identifiers and properties."""
    names = names_of(source, obj)
    for name in names:
        try:
            canonical_name(name)
        except InvalidDnsName as error:
            yield f"the name {name[:80]!r} {error}"
    for target in listed(annotation(obj, "target")) if names else ():
        try:
            canonical(type_of(target), target)
        except BadTarget as error:
            yield f"the annotation target: {error}"
    if names and not properties and (annotation(obj, "set-identifier") or properties_of(obj)):
        found = ["set-identifier"] if annotation(obj, "set-identifier") else []
        found += [setting.name[:80] for setting in properties_of(obj)]
        yield f"the annotations {', '.join(found[:MOST])}: a name server has no set identifiers and properties"
    ttl = annotation(obj, "ttl")
    if names and ttl and duration(ttl) is None:
        yield f"the annotation ttl: {ttl[:80]!r} is not a number of seconds or a duration such as 1m30s"
