"""The controllers of objects of other kinds: one for each source."""

from __future__ import annotations

from typing import Any

from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.indexes import hidden
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.sourceobject.reconcile import announce, desire, judge, problems
from seamark.families.dns.sourceobject.state import Seen
from seamark.families.dns.sources.kinds import SOURCES, SourceKind
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    rules = dependencies.options.rules
    return tuple(_controller(SOURCES[name], rules) for name in sorted(rules.sources & set(SOURCES)))


def _controller(source: SourceKind, rules: Rules) -> Controller[Seen]:
    def observe(_view: View, obj: Any, _results: Results) -> Seen | None:
        found = () if hidden(obj, rules) else tuple(problems(source, obj, properties=rules.set_identifiers))
        return Seen(found) if found else None

    return Controller(
        name=f"dnsnotices-{source.name}",
        kind=source.kind,
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=NoStatus(),
        reads=Reads(optional=(source.kind,) if source.kind.RESOURCE.group == GATEWAY else ()),
    )
