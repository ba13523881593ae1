"""The key of a gateway's translation: what it sees, what it wants of the data plane, what it says of the answer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.families.gateway import backendtls, traffic
from seamark.families.gateway.endpoints import endpoints
from seamark.families.gateway.options import Options
from seamark.families.gateway.programming import Program, Programmed, Programmer, Remove, call
from seamark.families.gateway.shapes import Attached, GatewayView, Verdict
from seamark.families.gateway.translate import Picture, translate, used
from seamark_edge.dataplane.model import Origin, Snapshot
from seamark_edge.dataplane.protocol import Presence
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Call, Failed, Results
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Collection, Facts, Fresh
from seamark_runtime.view import View


@dataclass(frozen=True)
class Seen:
    """What a gateway wants of the data plane, and what is known of the answer."""

    key: Key
    wanted: Call[Any] | None
    verdict: Verdict | None = None
    about: Mapping[Hashable, Any] = field(default_factory=dict)  # entries about routes and policies


@dataclass(frozen=True)
class Done:
    """A translation that was made."""

    picture: Picture
    snapshot: Snapshot
    number: int


@dataclass
class Translator:
    """Observes for all gateways. What was served last is remembered: while only routes change, it is still so."""

    options: Options
    programmer: Programmer
    views: Collection[GatewayView]
    attachments: Mapping[str, Collection[Any]]
    tls: Collection[Any]
    traffic_policies: Collection[Any]
    served: Facts[Key, GatewayView] = field(default_factory=lambda: Facts("served"))
    _done: dict[Key, Done] = field(default_factory=dict)

    def observe(self, view: View, key: Key, results: Results) -> Seen | None:
        found = next(iter(view.reports(self.views, key).values()), None)
        presence = view.fact(self.programmer.plane.presence, key)
        here = presence.value if isinstance(presence, Fresh) else None
        if found is None or not found.serves:
            return self._gone(key, here, results)
        picture, policies = self.picture(view, found)
        done = self._translated(key, picture)
        arrivals = max(1, here.arrivals) if here is not None else 1  # who comes later has to answer, too
        wanted = call(
            Program(key, f"{done.number} {arrivals}", done.picture, done.snapshot),
            self.options.verify,
            self.options.answer_within,
        )
        verdict, guilty = self._judged(key, picture, results.to(wanted), here)
        return Seen(key, wanted, verdict, {**guilty, **policies})

    def picture(self, view: View, found: GatewayView) -> tuple[Picture, dict[Hashable, Any]]:
        attached: list[Attached] = []
        for reports in self.attachments.values():
            attached += view.reports(reports, ("gateway", found.key)).values()
        attached.sort(key=lambda one: one.route.age)
        backends = used(attached).values()
        behind = {backend: endpoints(view, backend) for backend in backends}
        tls, said = backendtls.merged(view, found, backends, self.tls)
        extras, told = traffic.merged(found, attached, self._traffic(view, found, attached))
        policies: dict[Hashable, Any] = {("BackendTLSPolicy", key): words for key, words in said.items()}
        policies.update((("TrafficPolicy", key), words) for key, words in told.items())
        return Picture(found, tuple(attached), behind, tls, extras), policies

    def _translated(self, key: Key, picture: Picture) -> Done:
        """The same picture is not translated twice, and the same snapshot has the same number."""
        last = self._done.get(key)
        if last is not None and last.picture == picture:
            return last
        snapshot = translate(picture, self.programmer.memory(key))
        number = 1 if last is None else last.number + (last.snapshot != snapshot)
        self._done[key] = Done(picture, snapshot, number)
        return self._done[key]

    def _traffic(self, view: View, found: GatewayView, attached: list[Attached]) -> traffic.Table:
        """Policies are about objects of their own namespace: those of the gateway, its sets and its routes count."""
        namespaces = {found.key.namespace: None, **{key.namespace: None for key, _ in found.sets}}
        namespaces.update(dict.fromkeys(one.route.origin.namespace for one in attached))
        return traffic.Table(one for name in namespaces for one in view.reports(self.traffic_policies, name).values())

    def _gone(self, key: Key, here: Presence | None, results: Results) -> Seen | None:
        self.served.remove(key)
        self._done.pop(key, None)
        if here is None and key not in self.programmer.records:  # nothing of it was ever started
            return None
        removal: Call[Any] = Call(f"gateway {key} gone", Remove(key))
        return None if isinstance(results.to(removal), Fresh) else Seen(key, removal)

    def _judged(
        self, key: Key, picture: Picture, answer: Any, here: Presence | None
    ) -> tuple[Verdict, dict[Hashable, str]]:
        found = picture.gateway
        if here is not None and here.connected == 0:
            self.served.remove(key)  # the next connection has to confirm it again
            return Verdict("absent", "The data plane is not connected"), {}
        match answer:
            case Fresh(Programmed(guilty=guilty, refused=refused)):
                if refused:
                    self.served.remove(key)
                    return Verdict("refused", refused), {}
                self.served.put(key, found)
                return Verdict("served"), addressed(guilty)
            case Failed(message):
                self.served.remove(key)
                return Verdict("absent", f"The data plane did not answer: {message}"), {}
            case _:
                last = self.served.get(key, 0.0)
                same = isinstance(last, Fresh) and last.value == found
                standing = addressed(self.programmer.refused(picture))
                return Verdict("served") if same else Verdict("pending"), standing


def addressed(guilty: Iterable[tuple[Origin, str]]) -> dict[Hashable, str]:
    """Refusals as entries about their objects."""
    return {(origin.kind, Key(origin.namespace, origin.name)): words for origin, words in guilty}


def desire(seen: Seen) -> Wanted:
    return Wanted(calls=(seen.wanted,) if seen.wanted is not None else ())


def report(seen: Seen) -> Mapping[Hashable, Any]:
    if seen.verdict is None:
        return {}
    return {("verdict", seen.key): seen.verdict, **seen.about}
