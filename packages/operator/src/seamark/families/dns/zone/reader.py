"""The subjects of one zone that may have changed since the last read, at the cost of what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from seamark.api.dnssources import AddressedNode
from seamark.families.dns.model.entries import CRD, Ref
from seamark.families.dns.model.indexes import EVERYTHING, Indexes
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.sources.kinds import AddressSources, SourceKind
from seamark.families.dns.sources.parents import RouteParent, parent_of
from seamark.families.dns.zone.subjects import EndpointSubjects, other_subject
from seamark.gatewayapi.listeners import ParentKey
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.view import View

Changed = dict[Ref, Subject | None]


@dataclass
class _Source:
    """One source of objects, and how far it has been read: to `mark`, which has shown the `known` keys."""

    name: str
    index: Index[Any]
    forget: Callable[[Key], None] = lambda _key: None
    intent: bool = False
    mark: int = 0
    known: set[Key] = field(default_factory=set)


class ZoneReader:
    """Reads what has changed; None for subjects that are gone.

    - The names and targets of a route depend on its parents, and the targets of a NodePort Service on nodes: when these
      change, it is read again. `_parents` and `_nodes` are what was read of them; `_dependent` are the objects that
      depend on them.
    """

    def __init__(self, zone: str, rules: Rules, indexes: Indexes, endpoints: EndpointSubjects) -> None:
        self._zone = zone
        self._rules = rules
        self._indexes = indexes
        self._endpoints = endpoints
        self._kinds = {source.name: source for source in indexes.others}
        self._sources: list[_Source] = []
        if CRD in rules.sources:
            self._sources.append(_Source(CRD, indexes.crd, endpoints.forget, intent=True))
        self._sources += [_Source(source.name, index) for source, index in indexes.others.items()]
        self._parents: dict[ParentKey, RouteParent | None] = {}
        self._nodes: tuple[AddressedNode, ...] = ()
        self._dependent: dict[Ref, tuple[SourceKind, Any]] = {}

    def changed(self, view: View) -> Changed:
        addresses, moved = self._addresses(view)
        found: Changed = {}
        if moved:
            for ref, (kind, obj) in list(self._dependent.items()):
                found[ref] = self._other(kind, obj, addresses)
        for source in self._sources:
            found.update(self._since(view, source, addresses))
        self._parents, self._nodes = addresses.read, addresses.nodes
        return found

    def _since(self, view: View, source: _Source, addresses: AddressSources) -> Mapping[Ref, Subject | None]:
        since = view.since(source.index, self._zone, source.mark, intent=source.intent)
        source.mark = since.mark
        objects: dict[Key, Any] = dict(since.changed)
        if since.whole:
            objects.update({key: None for key in source.known if key not in since.changed})
        found: Changed = {}
        for key, obj in objects.items():
            ref = Ref.of(source.name, key)
            if obj is None:
                source.known.discard(key)
                source.forget(key)
                self._dependent.pop(ref, None)
                found[ref] = None
            else:
                source.known.add(key)
                found[ref] = self._subject(source, obj, addresses)
        return found

    def _subject(self, source: _Source, obj: Any, addresses: AddressSources) -> Subject:
        kind = self._kinds.get(source.name)
        return self._endpoints.subject(obj) if kind is None else self._other(kind, obj, addresses)

    # ---- objects of other kinds

    def _addresses(self, view: View) -> tuple[AddressSources, bool]:
        """The parents and nodes that addresses come from, and whether one of those that were read has changed.

        Every parent that was read is read again, or its change would not requeue the zone.
        """
        nodes = view.by(self._indexes.nodes, EVERYTHING) if self._indexes.reads_nodes else ()
        addresses = AddressSources(partial(parent_of, view.get), nodes)
        for key in self._parents:
            addresses.parent(key)
        return addresses, addresses.read != self._parents or nodes != self._nodes

    def _other(self, source: SourceKind, obj: Any, addresses: AddressSources) -> Subject:
        subject = other_subject(source, obj, addresses, self._rules)
        self._dependent.pop(subject.ref, None)
        if source.depends(obj):
            self._dependent[subject.ref] = (source, obj)
        return subject
