"""The DNS family in the simulator: DNSEndpoints and two zones outside; what the zones hold is the oracle."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from seamark.families.dns.family import DNS_ENDPOINT, controllers
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.domains import Domains
from seamark.providers.dns.model import Change, Content, NoResponse, QueryResults, Record
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from seamark_runtime.errors import Retry
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.answering import AnsweringMemory
from tests.simulation.faults import CANARY, RESTORES, Fault
from tests.simulation.invariants import StatusHistory, conditions_of
from tests.simulation.scenario import Step, Violation

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write

ENDPOINTS = "dnsendpoints.externaldns.k8s.io"
NAMESPACE = "default"
ROOT = f"/apis/externaldns.k8s.io/v1alpha1/namespaces/{NAMESPACE}/dnsendpoints"
ZONE, OTHER = "example.test", "other.test"
DENIED, FOREIGN = f"refused.{ZONE}", f"foreign.{ZONE}"
EXCLUDED, SPELLED = f"bücher.{ZONE}", f"www.XN--BCHER-KVA.{ZONE}."  # a domain that is not served, and a name in it
FOREIGN_RECORD = Record(FOREIGN, "A", ("192.0.2.200",), 300)
TIMING = Intervals(spacing=0.5, poll=200.0, shelf_life=3600.0, query_interval=60.0)
GRACE = 30.0  # seconds for which the records of an object stay that is gone without a deletion
PATIENCE = 6.0  # seconds until a name server counts as silent
ANSWERS_KEEP = 3 * TIMING.asking
TOLD_LATELY = 400.0  # seconds for which a trouble explains a False


class FakeZones(AnsweringMemory):
    """Zones with the troubles that the world sends, on a name server that a resolver can ask.

    - `held` is what they held, since when. `heard` is when a resolver last got each record.
    - `silent`: the name server is frozen. `otherwise`: it answers something else for a name. `lag`: seconds by which
      its answers are late.
    """

    def __init__(self) -> None:
        super().__init__((ZONE, OTHER), deny=(DENIED,))
        self.world: World
        self.held: dict[str, list[tuple[float, Content]]] = {ZONE: [], OTHER: []}
        self.troubled = float("-inf")
        self.heard: dict[tuple[str, tuple[str, ...]], float] = {}
        self.lag = 0.005
        self.vanished: dict[str, float] = {}  # names whose object is gone without a deletion, since when

    async def ask(self, content: Content, records: Sequence[Record]) -> QueryResults:
        await asyncio.sleep(self.lag)
        if self.silent or self.world.under(Fault.OUTSIDE_HANGS):
            await asyncio.sleep(PATIENCE)
            self._trouble(120)
            return QueryResults({}, {"192.0.2.53:53": self.silent or "no response"})
        found = await super().ask(content, records)
        now = self.world.clock.monotonic()
        self.heard |= {(one.name, one.targets): now for one, answer in found.answers.items() if answer.served}
        return found

    async def read(self, zone: str) -> Content:
        await self._before()
        return await super().read(zone)

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        await self._before()
        await super().apply(zone, changes)
        self.world.tell(f"      {zone}: {', '.join(map(str, changes))}")
        if self.world.under(Fault.OUTSIDE_LOSES):
            self._trouble(120)
            await asyncio.Event().wait()

    async def _before(self) -> None:
        await asyncio.sleep(0.005)
        if self.silent:
            await asyncio.sleep(PATIENCE)
            self._trouble(120)
            raise NoResponse(self.silent)
        if self.world.under(Fault.OUTSIDE_REFUSES):
            self._trouble()
            raise Retry("the name server is closed")
        if self.world.under(Fault.OUTSIDE_LEAKS):
            self._trouble()
            raise Retry(f"the name server does not know Authorization: Bearer {CANARY}")
        if self.world.under(Fault.OUTSIDE_HANGS):
            self._trouble(120)
            await asyncio.Event().wait()

    def _trouble(self, lasts: float = 0.0) -> None:
        self.troubled = max(self.troubled, self.world.clock.monotonic() + lasts)

    def _replace(self, zone: str, pairs: Any) -> None:
        pairs = list(pairs)
        for before, after in pairs:
            if after is None and before is not None and before.name in self.vanished:
                with self.world.watching():
                    self._check_grace(before)
        super()._replace(zone, pairs)
        self.held[zone].append((self.world.clock.monotonic(), self.content(zone)))

    def _check_grace(self, record: Record) -> None:
        age = self.world.clock.monotonic() - self.vanished[record.name]
        if age < GRACE:
            raise Violation("grace", f"{record} was removed {age:.0f} s after its object was gone")

    def lately(self, record: Record, since: float) -> bool:
        """Whether the zone held exactly this at some moment since then."""
        history = self.held[OTHER if record.name.endswith(OTHER) else ZONE]
        for number, (_since, content) in enumerate(history):
            until = history[number + 1][0] if number + 1 < len(history) else float("inf")
            standing = content.get(record.slot)
            if until >= since and standing is not None and standing.targets == record.targets:
                return True
        return False


class DnsScenario:
    name = "dns"
    crds: tuple[CRD, ...] = (DNS_ENDPOINT,)

    def __init__(self) -> None:
        self._history = StatusHistory()
        self._world: World
        self._specs: dict[tuple[str, int], Any] = {}
        self._first_revision = 0

    def outside(self) -> FakeZones:
        return FakeZones()

    def controllers(self, outside: Any) -> tuple[Declaration, ...]:
        rules = Rules(zones=(ZONE, OTHER), owner="sim", domains=Domains(exclude=(EXCLUDED,)), sweep_grace=GRACE)

        def wall() -> datetime:
            found: datetime = outside.world.clock.wall()  # the world is attached later
            return found

        return controllers(Options(rules, TIMING), outside, wall=wall)

    def attach(self, world: World) -> None:
        self._world = world
        self._first_revision = world.store.revisions.current
        world.outside.world = world
        world.outside.put(FOREIGN_RECORD)
        world.store.revisions.subscribe(ENDPOINTS, self._changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        return (
            Step("a record", lambda world: apply(world, "www", f"www.{ZONE}", "192.0.2.1"), most=2),
            Step("one that the server refuses", lambda world: apply(world, "no", DENIED, "192.0.2.1"), most=3),
            Step("one that is foreign", lambda world: apply(world, "theirs", FOREIGN, "192.0.2.1"), most=3),
            Step("one that is nonsense", lambda world: apply(world, "bad", f"bad.{ZONE}", "nonsense"), most=2),
            Step("one that is excluded", lambda world: apply(world, "books", SPELLED, "192.0.2.6"), most=2),
            Step("another address", lambda world: apply(world, "www", f"www.{ZONE}", "192.0.2.2"), most=1),
            Step("another owner has it already", lambda world: apply(world, "late", f"www.{ZONE}", "192.0.2.3", 60), 3),
            Step("the record is deleted by hand", lambda world: world.outside.remove(f"www.{ZONE}", "A"), most=4),
            Step("the nonsense is mended", lambda world: apply(world, "bad", f"bad.{ZONE}", "192.0.2.4"), most=3),
            Step("the status is wiped", lambda world: wipe_status(world, "bad"), most=2),
            Step("the first goes, and the late one has it", lambda world: delete(world, "www"), most=4),
            Step("into another zone", lambda world: apply(world, "bad", f"bad.{OTHER}", "192.0.2.5"), most=3),
            Step("the operator restarts", lambda world: world.restart_operator()),
            Step("a resolver gets something else", lambda world: answer(world, "answers NXDOMAIN"), most=4),
            Step("the record again", lambda world: answer(world, ""), most=3),
            Step("the name server freezes", lambda world: freeze(world, "no response"), most=4),
            Step("the operator restarts meanwhile", lambda world: world.restart_operator(), most=0),
            Step("it goes on, and is late", lambda world: freeze(world, "", lag=1.5), most=4),
            Step("one is gone without a deletion", lambda world: vanish(world, "late"), most=2),
            Step("one goes", lambda world: delete(world, "bad"), most=2),
        )

    def farewell(self) -> Step:
        return Step("all go", delete_all, most=7)

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))
        self._history.forget()
        for obj in world.store.objects(ENDPOINTS):
            self._learn(obj)

    def empty(self, world: World) -> None:
        delete_all(world)

    # ---- what is true

    def _learn(self, obj: Any) -> None:
        self._specs[(obj["metadata"]["uid"], obj["metadata"]["generation"])] = obj["spec"]

    def _changed(self, event: Event) -> None:
        world = self._world
        if event.new is None:
            return
        self._learn(event.new)
        with world.watching():
            self._history.check(event.old, event.new, world.clock.wall(), ours=world.operator_is_writing)
            if world.operator_is_writing and event.old is not None:
                self._judge(event.old, event.new)

    def _judge(self, old: Any, new: Any) -> None:
        """A status was written by the operator."""
        before = conditions_of(old).get("Ready")
        ready = conditions_of(new).get("Ready")
        if ready is None or ready == before:
            return
        now = self._world.clock.monotonic()
        if ready["status"] == "True":
            spec = self._specs[(new["metadata"]["uid"], ready["observedGeneration"])]
            for record in desired(spec):
                if not self._world.outside.lately(record, now - TIMING.shelf_life):
                    raise Violation("no lie", f"Ready is True, but the server did not hold {record} {record.targets}")
                heard = self._world.outside.heard.get((record.name, record.targets), float("-inf"))
                if heard < now - ANSWERS_KEEP:
                    raise Violation("no lie", f"Ready is True, but no resolver got {record} {record.targets}")
        blamed = ready["status"] == "False" and ready["reason"] == "Failed" and DENIED not in json.dumps(new["spec"])
        if blamed and self._world.outside.troubled < now - TOLD_LATELY:
            raise Violation("no false alarm", f"{ready['message']}: but nobody has refused anything")

    def wrote(self, world: World, write: Write) -> None:
        """Everything that counts is seen on the objects and in the zones."""

    # ---- at rest

    def unsettled(self, world: World) -> str:
        objects = list(world.store.objects(ENDPOINTS))
        expected: dict[str, Record] = {}
        for obj in objects:
            if "deletionTimestamp" in obj["metadata"]:
                return f"{obj['metadata']['name']} is still being deleted"
            wanted = self._expected(world, obj)
            if words := wrong_status(obj, wanted):
                return f"{obj['metadata']['name']}: {words}"
            if "True" in wanted[0] and obj["spec"]["endpoints"][0]["dnsName"] != DENIED:
                expected |= {record.name: record for record in desired(obj["spec"])}
        return self._zones_wrong(world, expected) if objects else self._left(world)

    def _expected(self, world: World, obj: Any) -> tuple[str, str]:
        """Accepted and Ready, as they should be; while no server answers, a restart lets an earlier status expire."""
        spec = obj["spec"]["endpoints"][0]
        if spec["targets"] == ["nonsense"] or spec["dnsName"] == SPELLED:
            return "False", "False"
        accepted, ready = self._from_the_zone(world, obj["metadata"]["name"], spec)
        return (f"{accepted} or Unknown", f"{ready} or Unknown") if world.outside.silent else (accepted, ready)

    def _from_the_zone(self, world: World, name: str, spec: Any) -> tuple[str, str]:
        if spec["dnsName"] == FOREIGN and world.outside.content(ZONE).get(FOREIGN_RECORD.slot) == FOREIGN_RECORD:
            return "False", "False"
        competing = [
            other["metadata"]["name"]
            for other in world.store.objects(ENDPOINTS)
            if other["spec"]["endpoints"][0]["dnsName"] == spec["dnsName"] and other["metadata"]["name"] != name
        ]
        if competing and self._holder(world, spec["dnsName"]) != name:
            return "False", "False"
        return "True", self._answered(world, spec["dnsName"])

    def _answered(self, world: World, name: str) -> str:
        """What a resolver gets, as Ready should have it."""
        if name == DENIED or name in world.outside.otherwise:
            return "False"
        return "Unknown" if world.outside.silent else "True"

    def _holder(self, world: World, name: str) -> str:
        standing = world.outside.content(ZONE).get((f"a-{name}", "TXT", ""))
        return standing.targets[0].rpartition("/")[2] if standing is not None else ""

    def _zones_wrong(self, world: World, expected: dict[str, Record]) -> str:
        held = {record.name: record for zone in (ZONE, OTHER) for record in world.outside.content(zone)}
        ours = {name: record for name, record in held.items() if record.type == "A" and record != FOREIGN_RECORD}
        lost = bool(set(world.befallen) & set(RESTORES))  # what the past does not know of may be left
        for name, record in expected.items():
            if name not in ours or ours[name].targets != record.targets or f"a-{name}" not in held:
                return f"{name} is {held.get(name)} on the server, and should be {record.targets}"
        extra = set(ours) - set(expected)
        return "" if lost or not extra else f"{sorted(extra)} are left on the server"

    def _left(self, world: World) -> str:
        if set(world.befallen) & set(RESTORES):
            return ""
        left = [
            str(record) for zone in (ZONE, OTHER) for record in world.outside.content(zone) if record != FOREIGN_RECORD
        ]
        return f"{left} are left on the server" if left else ""

    def quiet_from(self, world: World) -> float:
        return world.clock.monotonic()

    def left(self, world: World) -> str:
        names = [obj["metadata"]["name"] for obj in world.store.objects(ENDPOINTS)]
        if names:
            return f"{names} are still there"
        if world.outside.content(ZONE).get(FOREIGN_RECORD.slot) != FOREIGN_RECORD:
            return "the foreign record was changed"
        return self._left(world)

    def summary(self, world: World) -> Any:
        held = sorted(str(record) for zone in (ZONE, OTHER) for record in world.outside.content(zone))
        return {"objects": [obj["metadata"]["name"] for obj in world.store.objects(ENDPOINTS)], "held": held}


def desired(spec: Any) -> list[Record]:
    return [Record(one["dnsName"], one["recordType"], tuple(one["targets"])) for one in spec["endpoints"]]


def wrong_status(obj: Any, expected: tuple[str, str]) -> str:
    conditions, generation = conditions_of(obj), obj["metadata"]["generation"]
    for name, status in zip(("Accepted", "Ready"), expected, strict=True):
        condition = conditions.get(name)
        if condition is None:
            return f"{name} is not said"
        if condition.get("observedGeneration") != generation:
            return f"{name} speaks of generation {condition.get('observedGeneration')}, not {generation}"
        if condition["status"] not in status.split(" or "):
            return f"{name} is {condition['status']}, and should be {status}: {condition['message']}"
    return ""


# ---- acts


def apply(world: World, name: str, dns_name: str, target: str, ttl: int = 0) -> None:
    if world.under(Fault.NAMESPACE):
        return  # the API server would refuse it
    spec = {"endpoints": [{"dnsName": dns_name, "recordType": "A", "targets": [target], "recordTTL": ttl}]}
    if world.store.get(ENDPOINTS, NAMESPACE, name) is not None:
        patch(world, f"{ROOT}/{name}", {"spec": spec})
        return
    metadata = {"name": name, "namespace": NAMESPACE}
    world.store.create(
        {"apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint", "metadata": metadata, "spec": spec}
    )


def delete(world: World, name: str) -> None:
    if world.store.get(ENDPOINTS, NAMESPACE, name) is not None:
        world.store.delete(ENDPOINTS, NAMESPACE, name)


def answer(world: World, message: str) -> None:
    """What a resolver gets for the name of `bad`; empty for the record."""
    world.outside.otherwise = {f"bad.{OTHER}": message} if message else {}


def vanish(world: World, name: str) -> None:
    """Somebody removes the finalizer by hand, and the object is gone."""
    found = world.store.get(ENDPOINTS, NAMESPACE, name)
    if found is None:
        return
    patch(world, f"{ROOT}/{name}", {"metadata": {"finalizers": None}})
    delete(world, name)
    if world.store.get(ENDPOINTS, NAMESPACE, "www") is None:  # otherwise the name is still that object's
        world.outside.vanished = {f"www.{ZONE}": world.clock.monotonic()}


def freeze(world: World, why: str, lag: float = 0.005) -> None:
    """The name server stops answering, or goes on."""
    world.outside.silent, world.outside.lag = why, lag


def delete_all(world: World) -> None:
    for obj in list(world.store.objects(ENDPOINTS)):
        delete(world, obj["metadata"]["name"])


def wipe_status(world: World, name: str) -> None:
    patch(world, f"{ROOT}/{name}/status", {"status": None})


def patch(world: World, path: str, body: Any) -> None:
    request = HttpRequest(
        "PATCH", received_path(path), body=json.dumps(body).encode(), content_type="application/merge-patch+json"
    )
    answer = world.store.handle(request)
    assert isinstance(answer, Answer)
    assert answer.status in (200, 404), answer.body
