"""Every bad answer that a provider can give, to every request: none has a lasting effect.

Rules 39 to 41, on virtual time: the operator, an API server in this process, and a provider that fails on demand.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from seamark.families.dns.family import DNS_ENDPOINT, controllers
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.model import Change, Content, Moved, Provider, Record, RecordRefused, Unwritable
from seamark_cluster.embedded import EmbeddedTransport, Pace, Store
from seamark_cluster.embedded import Settings as StoreSettings
from seamark_runtime.errors import Refused, Retry
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.answering import AnsweringMemory
from tests.virtual_time import CLOCK, elapsed, run

ZONE = "example.test"
SETTINGS = Settings(leader_election=False, workers=8, stop_grace=0, health_address="")
OUTAGE = 600.0
AT_ONCE = 5  # refused changes that are tried again at the same time, here
BY_ITSELF = 65.0  # seconds after which a provider that answers well again is trusted
METHODS = ("read", "adjust", "apply")
Answer = Callable[[Any], Any]  # what a method answers in place of the right thing, from its argument


def failing(error: Exception) -> Answer:
    def answer(_given: object) -> object:
        raise error

    return answer


def never(_given: object) -> object:
    return asyncio.Event().wait()


def nothing(_given: object) -> object:
    return None


def none(_given: object) -> list[Record]:
    return []


def renamed(records: Sequence[Record]) -> list[Record]:
    return [Record(f"evil.{ZONE}", "A", ("192.0.2.66",)) for _ in records]


ERRORS = {
    "busy": Retry("busy"),
    "busy for years": Retry("busy", after=1e9),
    "moved": Moved("moved"),
    "unwritable": Unwritable("no right"),
    "record refused": RecordRefused("no"),
    "refused": Refused("no"),
    "late": TimeoutError("late"),
    "no connection": OSError(111, "Connection refused"),
    "a bug": KeyError("a bug"),
}
BAD: dict[str, tuple[str, Answer]] = {
    **{f"{method}: {name}": (method, failing(error)) for method in METHODS for name, error in ERRORS.items()},
    **{f"{method}: never": (method, never) for method in METHODS},
    "adjust: leaves all out": ("adjust", none),
    "adjust: other names": ("adjust", renamed),
    "apply: does nothing": ("apply", nothing),
}


class Moody(AnsweringMemory):
    """Answers what it is told to, and counts what it is asked."""

    adjusts = True

    def __init__(self) -> None:
        super().__init__((ZONE,))
        self.bad: dict[str, Answer] = {}
        self.calls: Counter[str] = Counter()
        self.times: list[float] = []

    async def read(self, zone: str) -> Content:
        found: Content = await self._answer("read", zone, super().read(zone))
        return found

    async def adjust(self, records: Sequence[Record]) -> list[Record]:
        found: list[Record] = await self._answer("adjust", records, super().adjust(records))
        return found

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        await self._answer("apply", changes, super().apply(zone, changes))

    async def _answer(self, method: str, given: Any, right: Any) -> Any:
        self.calls[method] += 1
        self.times.append(elapsed())
        if method not in self.bad:
            return await right
        right.close()
        found = self.bad[method](given)
        return await found if inspect.isawaitable(found) else found


class Small:
    """A cluster with DNSEndpoints."""

    def __init__(self) -> None:
        pace = StoreSettings(pace=Pace(bookmark=60, lifetime=600))
        self.store = Store(clock=CLOCK, chance=Random(1), settings=pace)
        self.store.create(DNS_ENDPOINT.manifest())
        self.written = 0

    def apply(self, *names: str) -> None:
        for name in names:
            record = {"dnsName": f"{name}.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"]}
            self.store.create(
                {
                    "apiVersion": "externaldns.k8s.io/v1alpha1",
                    "kind": "DNSEndpoint",
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"endpoints": [record]},
                }
            )

    def ready(self, name: str) -> tuple[str, str]:
        found = self.store.get("dnsendpoints.externaldns.k8s.io", "default", name) or {}
        conditions = found.get("status", {}).get("conditions", ())
        return next(
            ((condition["status"], condition["message"]) for condition in conditions if condition["type"] == "Ready"),
            ("", ""),
        )


@asynccontextmanager
async def operating(world: Small, provider: Provider, timing: Intervals | None = None) -> AsyncIterator[None]:
    declared = controllers(Options(Rules(zones=(ZONE,), owner="me"), timing or Intervals()), provider)
    operator = Operator(World(EmbeddedTransport(world.store), CLOCK, Random(1)), declared, SETTINGS)
    task = asyncio.ensure_future(operator.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_every_method_of_a_provider_is_tried_here() -> None:
    methods = [name for name, member in vars(Provider).items() if inspect.iscoroutinefunction(member)]
    assert sorted(methods) == sorted([*METHODS, "close"])


@pytest.mark.parametrize(("method", "answer"), BAD.values(), ids=list(BAD))
def test_after_any_bad_answer_the_provider_is_called_again_by_itself_and_not_too_often(
    method: str, answer: Answer
) -> None:
    async def story() -> None:
        provider, world = Moody(), Small()
        async with operating(world, provider):
            provider.bad[method] = answer
            world.apply("a", "b", "c")
            await asyncio.sleep(OUTAGE)
            assert all(world.ready(name)[0] != "True" for name in "abc")
            assert provider.calls[method] <= OUTAGE / 4, "it is not hammered"  # for three records, halved if need be
            provider.bad.clear()
            await asyncio.sleep(BY_ITSELF)
            assert [world.ready(name)[0] for name in "abc"] == ["True"] * 3, [world.ready(name) for name in "abc"]

    run(story())


def test_refused_changes_beyond_those_tried_at_once_have_their_turn_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("seamark.families.dns.model.responses.MOST_ALONE", AT_ONCE)

    async def story() -> None:
        provider, world = Moody(), Small()
        never_taken = [f"a{number:03}" for number in range(2 * AT_ONCE)]
        async with operating(world, provider):
            provider.deny = {f"{name}.{ZONE}" for name in [*never_taken, "z"]}
            world.apply(*never_taken, "z")
            await asyncio.sleep(OUTAGE)
            provider.calls.clear()
            await asyncio.sleep(OUTAGE)
            assert provider.calls["apply"] <= 2 * AT_ONCE * OUTAGE / 60, "many are tried again more slowly"
            provider.deny.discard(f"z.{ZONE}")
            await asyncio.sleep(4 * BY_ITSELF)
            assert world.ready("z")[0] == "True"
            assert "refused" in world.ready("a000")[1]

    run(story())


def test_when_a_refused_change_is_accepted_the_others_are_tried_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("seamark.families.dns.model.responses.MOST_ALONE", AT_ONCE)

    async def story() -> None:
        provider, world = Moody(), Small()
        names = [f"a{number:03}" for number in range(4 * AT_ONCE)]
        async with operating(world, provider):
            provider.deny = {f"{name}.{ZONE}" for name in names}
            world.apply(*names)
            await asyncio.sleep(OUTAGE)
            provider.deny.clear()
            await asyncio.sleep(BY_ITSELF)
            assert [name for name in names if world.ready(name)[0] != "True"] == []

    run(story())


def test_an_adjusted_record_is_requested_again_and_no_status_is_written_meanwhile() -> None:
    """A provider that changes its mind is followed; at rest nothing is written."""

    def other(records: Sequence[Record]) -> list[Record]:
        return [Record(record.name, record.type, ("192.0.2.7",), record.ttl) for record in records]

    async def story() -> None:
        provider, world = Moody(), Small()
        async with operating(world, provider):
            world.apply("a")
            await asyncio.sleep(5)
            before = world.store.get("dnsendpoints.externaldns.k8s.io", "default", "a")
            await asyncio.sleep(2 * OUTAGE)
            assert world.store.get("dnsendpoints.externaldns.k8s.io", "default", "a") == before
            assert 2 <= provider.calls["adjust"] <= 6
            provider.bad["adjust"] = other
            await asyncio.sleep(OUTAGE)
            assert provider.content(ZONE).at(f"a.{ZONE}")[0].targets == ("192.0.2.7",)

    run(story())


@pytest.mark.parametrize(("poll", "longest"), [(3.0, 10.0), (30.0, 30.0), (300.0, 30.0)])
def test_a_provider_that_can_t_be_read_is_read_again_soon_and_the_message_is_that_of_the_last_failure(
    poll: float, longest: float
) -> None:
    async def story() -> None:
        provider, world = Moody(), Small()
        async with operating(world, provider, Intervals(poll=poll)):
            provider.bad["read"] = failing(Retry("the first failure"))
            world.apply("a")
            await asyncio.sleep(OUTAGE)
            provider.times.clear()
            await asyncio.sleep(OUTAGE)
            gaps = [later - sooner for sooner, later in pairwise(provider.times)]
            assert longest / 2 <= min(gaps)
            assert max(gaps) <= longest
            provider.bad["read"] = failing(Retry("the second failure"))
            await asyncio.sleep(longest + 1)
            assert "the second failure" in world.ready("a")[1]

    run(story())


def test_while_the_provider_can_t_be_read_its_earlier_refusals_are_not_repeated() -> None:
    async def story() -> None:
        for method, answer in (("apply", failing(RecordRefused("no such zone"))), ("adjust", none)):
            provider, world = Moody(), Small()
            async with operating(world, provider):
                provider.bad[method] = answer
                world.apply("a")
                await asyncio.sleep(OUTAGE)
                assert any(message in world.ready("a")[1] for message in ("no such zone", "does not take"))
                provider.bad["read"] = failing(Retry("the connection was cut"))
                await asyncio.sleep(BY_ITSELF)
                assert "the connection was cut" in world.ready("a")[1]

    run(story())
