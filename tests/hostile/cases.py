"""The cases of a run: which field of which kind gets which value. The same seed gives the same cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from tests.hostile.bases import Base, all_fields, base_for, value_at
from tests.hostile.client import Client, Json
from tests.hostile.client import Place as Api
from tests.hostile.corpus import Entry, chosen
from tests.hostile.documents import nested
from tests.hostile.metadata import forged, metadata_fields
from tests.hostile.schema import Field, Path, Place, changed, locate

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LEVELS = 1_200  # of nesting: the API server takes it, and Seamark can't read it
LEFT_OUT = {
    "GatewayClass": "cluster-scoped: no tenant may write it",
}


@dataclass(frozen=True)
class Case:
    """One object, differing from a valid one in one field."""

    kind: str
    path: Path
    entry: Entry
    base: Base
    place: Place | None = None  # where the value goes; None: the base is hostile as it is
    after: tuple[Json, ...] = ()  # patches to send once the object is spoken of
    forbidden: bool = False  # a good status means that something was crossed
    reason: str = ""  # a status without a condition of this reason means that something was crossed
    must: bool = False  # one of the known instances: always run
    label: str = ""

    @property
    def field(self) -> str:
        return self.label or Field(self.kind, self.path, "").text

    def object(self, words: Mapping[str, str]) -> Json:
        whole: Json = self.base.named(words).object
        if self.place is None:
            return whole
        current: object = whole
        for key in self.place:
            current = current.get(key) if isinstance(current, dict) else current[key]  # type: ignore[index]
        return changed(whole, self.place, self.entry.of(current))

    def __str__(self) -> str:
        return f"{self.kind} {self.field} {self.entry}"


@dataclass
class Plan:
    """What there is to try, and what is left out and why."""

    fields: list[Field] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> set[str]:
        return {field.kind for field in self.fields}


async def api_places(client: Client, bases: Mapping[str, list[Base]]) -> dict[str, Api]:
    """Where each kind is served, as the API server says."""
    found: dict[str, Api] = {}
    for several in bases.values():
        for base in several:
            for manifest in (base.object, *base.beside):
                kind, version = str(manifest["kind"]), str(manifest["apiVersion"])
                if kind not in found:
                    found[kind] = Api(kind, version, await _plural(client, kind, version))
    found["Event"] = Api("Event", "events.k8s.io/v1", "events")
    found["Deployment"] = Api("Deployment", "apps/v1", "deployments")  # made of what tenants write: may show a marker
    return found


async def _plural(client: Client, kind: str, version: str) -> str:
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    resources = (await client.ask("GET", root)).body["resources"]
    return next(str(one["name"]) for one in resources if one["kind"] == kind and "/" not in one["name"])


async def schemas(client: Client, bases: Mapping[str, list[Base]]) -> dict[str, tuple[Json, Json]]:
    """By kind: its schema and what it refers to, from the definitions and from what the API server publishes."""
    found: dict[str, tuple[Json, Json]] = {}
    definitions = (await client.ask("GET", DEFINITIONS)).body["items"]
    if forgotten := untried((definition["spec"]["names"]["kind"] for definition in definitions), bases):
        raise AssertionError(f"no manifest for {', '.join(forgotten)}, and no reason to leave it out")
    for definition in definitions:
        spec = definition["spec"]
        kind = spec["names"]["kind"]
        for version in spec["versions"]:
            if kind in bases and f"{spec['group']}/{version['name']}" == bases[kind][0].api_version:
                found[kind] = (version["schema"]["openAPIV3Schema"], {})
    for kind in bases:
        if kind not in found:
            version = bases[kind][0].api_version
            root = f"apis/{version}" if "/" in version else f"api/{version}"
            parts = (await client.ask("GET", f"/openapi/v3/{root}")).body["components"]["schemas"]
            found[kind] = (next(one for one in parts.values() if _is(one, kind)), parts)
    return found


def untried(kinds: Iterable[str], bases: Iterable[str]) -> list[str]:
    """Kinds that the cluster serves, and that are neither tried nor left out for a reason."""
    return sorted(set(kinds) - set(bases) - set(LEFT_OUT))


def _is(schema: Json, kind: str) -> bool:
    return any(one["kind"] == kind for one in schema.get("x-kubernetes-group-version-kind") or ())


def planned(
    bases: Mapping[str, list[Base]],
    found: Mapping[str, tuple[Json, Json]],
    *,
    per_group: int,
    seed: int,
    only: Iterable[str] = (),
) -> Plan:
    plan = Plan(left_out={f"{kind} (whole kind)": reason for kind, reason in LEFT_OUT.items()})
    kinds = [kind for kind in bases if not only or kind in only]
    for kind in kinds:
        schema, definitions = found[kind]
        plan.fields += all_fields(kind, schema, definitions, bases[kind])
    plan.fields += metadata_fields(kinds)
    by_field = [_cases(plan, one, bases[one.kind], per_group, seed) for one in plan.fields]
    plan.cases = [case for column in zip_longest(*by_field) for case in column if case is not None]
    plan.cases += [update for one in plan.fields if one.type == "any" for update in _update(one, bases[one.kind])]
    return plan


def _update(one: Field, bases: list[Base]) -> list[Case]:
    """A valid object that becomes unreadable after it was served, and is deleted then."""
    base = base_for(one, bases)
    place = locate(base.object, one.path) if base is not None else None
    if base is None or place is None:
        return []
    spec = str(place[0])
    patch = {spec: changed(base.object, place, nested(LEVELS))[spec]}
    return [Case(one.kind, one.path, Entry("update", f"deep-{LEVELS}", None), base, after=(patch,))]


def _cases(plan: Plan, one: Field, bases: list[Base], per_group: int, seed: int) -> list[Case]:
    base = base_for(one, bases)
    if base is None:
        plan.left_out[str(one)] = "no base manifest has a place for it"
        return []
    place = locate(base.object, one.path)
    entries = (
        forged(one, base.api_version) if one.type == "forged" else chosen(one, value_at(base, one), per_group, seed)
    )
    found = [Case(one.kind, one.path, entry, base, place) for entry in entries]
    others = [other for other in bases if other is not base and one.type == "string"]
    return [_other(case, others, number) for number, case in enumerate(found)]


def _other(case: Case, others: list[Base], number: int) -> Case:
    """Every third case of a text uses another base that has the field, if there is one: other types, other ways."""
    places = [(other, place) for other in others if (place := locate(other.object, case.path)) and number % 3 == 2]
    having = [(other, place) for other, place in places if value_at(other, Field(case.kind, case.path, "")) is not None]
    if not having:
        return case
    base, place = having[number // 3 % len(having)]
    return replace(case, base=base, place=place)


def baseline(bases: Mapping[str, list[Base]], only: Iterable[str] = ()) -> list[Case]:
    """Every base as it is."""
    return [
        Case(kind, (), Entry("base", str(number), None), base)
        for kind, several in bases.items()
        if not only or kind in only
        for number, base in enumerate(several)
    ]


def fast(plan: Plan, number: int) -> list[Case]:
    """A part of the cases, spread over kinds and classes: each kind and class is there before any is repeated."""
    queues: dict[tuple[str, str], list[Case]] = {}
    for case in plan.cases:
        queues.setdefault((case.kind, case.entry.group), []).append(case)
    rounds = zip_longest(*queues.values())
    return [case for column in rounds for case in column if case is not None][:number]
