"""What would be done, without doing it: the plan of every zone for these objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from seamark.api.dns import DNSEndpoint
from seamark.api.dnssources import AddressedGateway, AddressedNode
from seamark.families.dns.ledger import Subject, claims_of
from seamark.families.dns.planning import ZonePlan
from seamark.families.dns.reading import Readings, other_subject
from seamark.families.dns.rules import Rules
from seamark.families.dns.sources import SOURCES, Around
from seamark.families.dns.state import Adjust
from seamark.families.dns.work import Work
from seamark.providers.dns.model import Change, Provider, Record
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.api.meta import Object
from seamark_runtime.client import Client
from seamark_runtime.errors import Gone

T = TypeVar("T", bound=Object)


@dataclass(frozen=True)
class Planned:
    """One change, or one record that is not served and why."""

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
    readings = Readings(rules)
    subjects = [*(_settled(readings.subject(endpoint)) for endpoint in endpoints), *others]
    found = [
        Planned("", problem.reason, *_named(subject, problem.index), why=f"{subject.ref.resource}: {problem.message}")
        for subject in subjects
        if not subject.hidden
        for problem in subject.wishes.problems
    ]
    for zone in rules.zones:
        found += await _zone(provider, rules, zone, subjects)
    return found


async def other_subjects(client: Client, rules: Rules) -> list[Subject]:
    """Services, Ingresses, Gateways and routes as they are now, if they are read."""
    sources = [SOURCES[name] for name in sorted(rules.sources & set(SOURCES))]
    routes = any(source.kind.RESOURCE.group == GATEWAY for source in sources)
    gateways = {one.key: one for one in await _listed(client, AddressedGateway)} if routes else {}
    nodes = tuple(await _listed(client, AddressedNode)) if "service" in rules.sources else ()
    around = Around(gateways.get, nodes)
    return [
        other_subject(source, obj, around, rules)
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
    plan = ZonePlan(zone, replace(rules, hold=0.0))  # which names were released lately is known to the operator alone
    living = rules.sources if rules.empty_deletes else frozenset(subject.ref.source for subject in subjects)
    if provider.adjusts:
        work = Work(provider, float("inf"))
        plan.adjusted = work.adjusted(zone)
    touched = plan.follow(content, {subject.key: subject.stake(zone) for subject in subjects}, living)
    while plan.backlog or plan.asked:
        if plan.asked:
            await work.perform(Adjust(zone, tuple(record for asks in plan.asked.values() for record in asks)))
        touched |= plan.follow(content, {}, living)
    refused = [
        Planned(zone, verdict.reason, verdict.slot[0], verdict.slot[1], why=f"{ref.resource}: {verdict.message}")
        for name in touched
        for (ref, _index), verdict in plan.name(name).verdicts.items()
        if verdict.reason
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
    found = next((problem.slot for problem in subject.wishes.problems if problem.index == index), None)
    return (found[0], found[1]) if found else ("?", "?")


def _settled(subject: Subject) -> Subject:
    return replace(subject, settled=True, claims=claims_of(subject.ref, subject.wishes, settled=True))
