"""What would be done, without doing it: the plan of every zone for these objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from seamark.api.dns import DNSEndpoint
from seamark.api.dnssources import AddressedNode
from seamark.families.dns.model.indexes import SpecReader
from seamark.families.dns.model.responses import Responses
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.families.dns.sources.kinds import SOURCES, AddressSources
from seamark.families.dns.sources.parents import parent_of
from seamark.families.dns.zone.subjects import EndpointSubjects, other_subject
from seamark.providers.dns.model import Change, Provider, Record
from seamark_runtime.api.gateway import Gateway, ListenerSet
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.client import Client
from seamark_runtime.errors import Gone

T = TypeVar("T", bound=Object)


@dataclass(frozen=True)
class Planned:
    """A change, or a record that is not served and why."""

    zone: str
    action: str
    name: str
    type: str
    before: str = ""
    after: str = ""
    why: str = ""


async def dry_run(
    provider: Provider, rules: Rules, endpoints: Iterable[DNSEndpoint], others: Iterable[Subject] = ()
) -> list[Planned]:
    """As if every object were marked already; nothing is written, neither to the cluster nor to a name server."""
    known = EndpointSubjects(rules, SpecReader(rules))
    subjects = [*(_settled(known.subject(endpoint)) for endpoint in endpoints), *others]
    found = [
        Planned("", problem.reason, *_named(subject, problem.index), why=f"{subject.ref.resource}: {problem.message}")
        for subject in subjects
        if not subject.hidden
        for problem in subject.desired.problems
    ]
    for zone in rules.zones:
        found += await _zone(provider, rules, zone, subjects)
    return found


async def other_subjects(client: Client, rules: Rules) -> list[Subject]:
    """Services, Ingresses, Gateways and routes as they are now, if they are read."""
    sources = [SOURCES[name] for name in sorted(rules.sources & set(SOURCES))]
    routes = any(source.kind.RESOURCE.group == GATEWAY for source in sources)
    gateways = {gateway.key: gateway for gateway in await _listed(client, Gateway)} if routes else {}
    sets = {listener_set.key: listener_set for listener_set in await _listed(client, ListenerSet)} if routes else {}

    def get(kind: type[Object], key: Key) -> Any:
        return (gateways if kind is Gateway else sets).get(key)

    nodes = tuple(await _listed(client, AddressedNode)) if "service" in rules.sources else ()
    addresses = AddressSources(partial(parent_of, get), nodes)
    return [
        other_subject(source, obj, addresses, rules)
        for source in sources
        for obj in await _listed(client, source.kind, rules.namespace)
    ]


async def _listed(client: Client, kind: type[T], namespace: str = "") -> list[T]:
    try:
        return list(await client.list(kind, namespace=namespace))
    except Gone:
        return []  # the Gateway API may not be installed


async def _zone(provider: Provider, rules: Rules, zone: str, subjects: Sequence[Subject]) -> list[Planned]:
    content = await provider.read(zone)
    # Which names were released lately, and which objects are gone, is known to the operator alone.
    plan = ZonePlan(zone, replace(rules, hold=0.0, sweep_grace=0.0))
    populated = rules.sources if rules.empty_deletes else frozenset(subject.ref.source for subject in subjects)
    responses = Responses(float("inf"), adjusts=provider.adjusts)
    plan.adjusted = responses.adjusted(zone)
    touched = plan.follow(content, {subject.ref: subject.claims_in(zone) for subject in subjects}, populated)
    while plan.backlog or plan.to_adjust:
        if records := tuple(record for group in plan.to_adjust.values() for record in group):
            responses.adjust(zone, records, await provider.adjust(records), now=0.0)
        touched |= plan.follow(content, {}, populated)
    refused = [
        Planned(zone, decision.reason, decision.slot[0], decision.slot[1], why=f"{ref.resource}: {decision.message}")
        for name in touched
        for (ref, _index), decision in plan.name(name).decisions.items()
        if decision.reason
    ]
    return [*(_change(zone, change) for change in plan.changes), *refused]


def _change(zone: str, change: Change) -> Planned:
    first = change.parts[0]
    name, type_, _ = change.slot
    return Planned(zone, change.verb, name, type_, _targets(first.before), _targets(first.after))


def _targets(record: Record | None) -> str:
    if record is None:
        return ""
    return ",".join(record.targets) + (f" ({record.ttl} s)" if record.ttl else "")


def _named(subject: Subject, index: int) -> tuple[str, str]:
    found = next((problem.slot for problem in subject.desired.problems if problem.index == index), None)
    return (found[0], found[1]) if found else ("?", "?")


def _settled(subject: Subject) -> Subject:
    claims = {zone: tuple(replace(claim, settled=True) for claim in found) for zone, found in subject.claims.items()}
    return replace(subject, settled=True, claims=claims)
