"""What we may do: asked when a controller needs to know, and only then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable
from random import Random

from seamark_runtime.access import AccessReviews, Right
from seamark_runtime.client import Client
from seamark_runtime.source import Fresh, NotYet, Source
from seamark_runtime.transport import Answer, HttpRequest
from tests.unit.runtime.scripted import ScriptedTransport, failed, ok
from tests.virtual_time import CLOCK, elapsed, run, settle

RIGHT = Right("shop", "create", "services")


class Asked:
    """Reviews over a server that answers `allowed`."""

    def __init__(self) -> None:
        self.allowed = False
        self.broken = False
        self.questions: list[object] = []
        self.told: list[Hashable] = []
        self.reviews = AccessReviews(Client(ScriptedTransport(self._reply), manager="test"), CLOCK, Random(1))
        self.reviews.subscribe(self._heard)

    def _reply(self, request: HttpRequest) -> Answer:
        if self.broken:
            return failed(503, "ServiceUnavailable")
        body = json.loads(request.body)
        self.questions.append(body["spec"]["resourceAttributes"])
        return ok({**body, "status": {"allowed": self.allowed}})

    def _heard(self, _source: Source, token: Hashable) -> None:
        self.told.append(token)


def test_a_right_is_asked_for_once_and_the_answer_wakes_who_has_read_it() -> None:
    async def story() -> None:
        world = Asked()
        assert world.reviews.get(RIGHT, elapsed()) == NotYet()
        world.reviews.get(RIGHT, elapsed())
        await settle()
        assert world.questions == [{"namespace": "shop", "verb": "create", "resource": "services"}]
        fact = world.reviews.get(RIGHT, elapsed())
        assert isinstance(fact, Fresh)
        assert fact.value is False
        assert world.told == [RIGHT]

    run(story())


def test_after_a_minute_it_is_asked_again_and_only_a_change_is_told() -> None:
    async def story() -> None:
        world = Asked()
        world.reviews.get(RIGHT, elapsed())
        await asyncio.sleep(61)
        world.reviews.get(RIGHT, elapsed())
        await settle()
        assert (len(world.questions), world.told) == (2, [RIGHT])
        world.allowed = True
        await asyncio.sleep(61)
        world.reviews.get(RIGHT, elapsed())
        await settle()
        assert (len(world.questions), world.told) == (3, [RIGHT, RIGHT])

    run(story())


def test_a_server_that_does_not_say_is_no_evidence() -> None:
    async def story() -> None:
        world = Asked()
        world.broken = True
        world.reviews.get(RIGHT, elapsed())
        await asyncio.sleep(30)
        assert world.reviews.get(RIGHT, elapsed()) == NotYet()
        world.broken = False
        await asyncio.sleep(30)
        assert isinstance(world.reviews.get(RIGHT, elapsed()), Fresh)
        await world.reviews.stop()

    run(story())
