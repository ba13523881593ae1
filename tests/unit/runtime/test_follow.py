"""Objects followed by name: read while a controller needs them, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from random import Random

from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.follow import Follower, Unreadable
from seamark_runtime.request import Request
from seamark_runtime.source import Absent, Fresh, NotYet, Source
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.view import RecordedReads, View
from tests.unit.runtime.scripted import ScriptedTransport, failed, ok
from tests.virtual_time import run, settle

KEY = Key("ns", "certificate")
ITEM = Request("readers", Key("ns", "reader"))


class Followed:
    """A follower over a server that answers with `answer`, and a record of its notifications."""

    def __init__(self) -> None:
        self.answer: Answer = ok({"metadata": {"name": "certificate", "namespace": "ns", "uid": "1"}})
        self.requests: list[HttpRequest] = []
        client = Client(ScriptedTransport(self._reply), manager="test")
        self.follower = Follower(client, ConfigMap, Random(1), every=10)
        self.told: list[Hashable] = []
        self.follower.subscribe(self._heard)

    def _reply(self, request: HttpRequest) -> Answer:
        self.requests.append(request)
        return self.answer

    def _heard(self, _source: Source, token: Hashable) -> None:
        self.told.append(token)


def test_the_first_answer_is_a_fact_and_tells_who_has_read_it() -> None:
    async def story() -> None:
        world = Followed()
        assert world.follower.get(KEY) == NotYet()
        await settle()
        fact = world.follower.get(KEY)
        assert isinstance(fact, Fresh)
        assert fact.value.uid == "1"
        assert world.told == [KEY]
        await world.follower.stop()

    run(story())


def test_an_unchanged_object_is_read_again_and_again_and_tells_nobody() -> None:
    async def story() -> None:
        world = Followed()
        world.follower.get(KEY)
        await asyncio.sleep(100)
        assert len(world.requests) in range(9, 14)
        assert world.told == [KEY]
        await world.follower.stop()

    run(story())


def test_absence_and_refusal_are_facts_and_a_passing_failure_is_none() -> None:
    async def story() -> None:
        world = Followed()
        world.answer = failed(404, "NotFound")
        world.follower.get(KEY)
        await settle()
        assert world.follower.get(KEY) == Absent()
        world.answer = failed(403, "Forbidden", message="you may not")
        await asyncio.sleep(13)
        assert world.follower.get(KEY) == Unreadable("you may not")
        world.answer = failed(503, "ServiceUnavailable")
        await asyncio.sleep(13)
        assert world.follower.get(KEY) == Unreadable("you may not")
        await world.follower.stop()

    run(story())


def test_following_ends_when_nobody_reads_it_any_more() -> None:
    async def story() -> None:
        world = Followed()
        dependencies = RecordedReads()
        view = View({}, 0.0, {ConfigMap: world.follower})
        view.single(ConfigMap, KEY)
        dependencies.record(ITEM, view.reads)
        await settle()
        dependencies.record(ITEM, ())
        asked = len(world.requests)
        await asyncio.sleep(100)
        assert len(world.requests) == asked
        assert world.follower.get(KEY) == NotYet()
        await world.follower.stop()

    run(story())
