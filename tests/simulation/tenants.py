"""Tenants who write what they may on their own objects, and a server that refuses a delete: no other tenant notices.

- A tenant forges `managedFields` of his Greeting and overwrites its status whenever the operator has written it. That
  object is left alone and reports it; the Greeting of another tenant is reconciled in time all the while.
- He also forges a child of that other tenant's Greeting, label for label, in a namespace of his: it is not touched.
- Deleting a child of a third Greeting is refused for good: its status is that of its generation all the same, and an
  event tells the user who refused.
"""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

from seamark.api.sample import Greeting, GreetingStatus
from seamark.families.sample.family import GREETING
from seamark_cluster.embedded import EmbeddedTransport, Pace, Store
from seamark_cluster.embedded import Settings as StoreSettings
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Object, ObjectMeta, document
from seamark_runtime.apply import Answers
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.conditions import ConditionType
from seamark_runtime.controller import Controller, Wanted, Writes
from seamark_runtime.operator import Operator
from seamark_runtime.operator import World as OperatorWorld
from seamark_runtime.ownership import ByLabels
from seamark_runtime.status import ByManager
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import api_path
from tests.simulation.faults import Plan
from tests.simulation.invariants import check_purity
from tests.simulation.sample.acts import GREETINGS, MERGE, NAMESPACE, ROOT
from tests.simulation.scenario import Violation
from tests.simulation.world import SETTINGS, SimClock, tried_twice

HOSTILE, GOOD, KEPT = "hostile", "good", "kept"
ELSEWHERE = "elsewhere"  # a namespace of the hostile tenant's
OWNED = ByLabels("seamark", "sample.seamark.dev/owner", "sample.seamark.dev/owner-namespace")
IN_TIME = 5.0  # seconds within which a change must be in the status of an object without competing writers
EDITS = 20
MOST_WRITES = 8  # of the status of the object that is fought for, in one schedule
REFUSAL = "admission webhook keeps.example.com denied the request"
PUBLISHED = ConditionType("Published", "the ConfigMap has the text", {"Published": "it has", "Refused": "it has not"})


def judge(greeting: Greeting, answers: Answers) -> GreetingStatus:
    if refusal := answers.refusal("map"):
        return GreetingStatus(conditions=(PUBLISHED.false("Refused", refusal.message),))
    return GreetingStatus(conditions=(PUBLISHED.true("Published", f"the text is {greeting.spec.text}"),))


def desire(greeting: Greeting) -> Wanted:
    """A new text is a new ConfigMap; the one before has to go."""
    metadata = ObjectMeta(name=f"{greeting.metadata.name}-{greeting.spec.text}", namespace=NAMESPACE)
    children: dict[str, Object] = {"map": ConfigMap(metadata=metadata, data={"text": greeting.spec.text})}
    return Wanted(children=children)


def controller() -> Controller[Greeting]:
    return Controller(
        name="greetings",
        kind=Greeting,
        observe=lambda _view, greeting, _results: greeting,
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-greetings", conditions=(PUBLISHED,)),
        competing=CompetingControllers("kind", GREETINGS),
        writes=Writes(children=(ConfigMap,), ownership=OWNED),
    )


class Tenants:
    def __init__(self, seed: int, _plan: Plan) -> None:
        self.clock = SimClock()
        pace = Pace(bookmark=1800, lifetime=50_000)
        self.store = Store(clock=self.clock, chance=Random(seed), settings=StoreSettings(pace=pace, controllers=False))
        self.requests = 0
        self.story: list[str] = []
        self.lines: list[bytes] = []
        self.impure: list[str] = []
        self._chance = Random(seed)
        self._fought = 0  # writes of the operator to the status that is fought for
        self._life: asyncio.Task[None] | None = None

    # ---- the operator's way to the API server

    async def send(self, request: HttpRequest) -> Answer:
        self.requests += 1
        await asyncio.sleep(self._chance.uniform(0.001, 0.01))
        if request.method == "DELETE" and f"/configmaps/{KEPT}-" in request.path:
            body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": REFUSAL}
            return Answer(403, json.dumps(body).encode())
        answer = await EmbeddedTransport(self.store, agent="operator").send(request)
        if request.writes:
            self._tell(f"{request.method} {request.path} → {answer.status}")
        if request.path == f"{ROOT}/{HOSTILE}/status" and answer.status == 200:
            self._fought += 1
            asyncio.get_running_loop().call_later(self._chance.uniform(0.001, 0.2), self._overwrite)
        return answer

    def stream(self, request: HttpRequest) -> Any:
        return EmbeddedTransport(self.store, agent="operator").stream(request)

    async def close(self) -> None:
        pass

    # ---- what tenants do

    def _overwrite(self) -> None:
        condition = {"type": "Published", "status": "True", "reason": "Mine", "message": "mine"}
        more = {"observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        self._patch(f"{ROOT}/{HOSTILE}/status", {"status": {"conditions": [{**condition, **more}]}})

    def _forge(self, number: int) -> None:
        forged = {"manager": "rival", "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1"}
        name = "f:conditions" if number % 2 else "f:configMapRef"  # a new time alone would be no change
        api = {"apiVersion": "sample.seamark.dev/v1alpha1", "fieldsV1": {"f:status": {name: {}}}}
        time = {"time": f"2026-01-01T00:00:{number:02}Z"}
        self._patch(f"{ROOT}/{HOSTILE}", {"metadata": {"managedFields": [{**forged, **api, **time}]}})

    def _make(self, name: str) -> None:
        metadata = {"name": name, "namespace": NAMESPACE}
        self.store.create(
            {
                "apiVersion": "sample.seamark.dev/v1alpha1",
                "kind": "Greeting",
                "metadata": metadata,
                "spec": {"text": "t0"},
            }
        )

    def _forge_child(self) -> None:
        owner = Object(metadata=ObjectMeta(name=GOOD, namespace=NAMESPACE))
        child = ConfigMap(metadata=ObjectMeta(name="forged", namespace=ELSEWHERE, finalizers=("evil.example/x",)))
        self.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}})
        self.store.create(json.loads(json.dumps(document(OWNED.claim(owner, child)))))

    def _patch(self, path: str, body: Any) -> None:
        answer = self.store.handle(
            HttpRequest("PATCH", api_path(path), body=json.dumps(body).encode(), content_type=MERGE)
        )
        assert isinstance(answer, Answer)
        assert answer.status == 200, answer.body

    # ---- what must hold

    async def drive(self) -> None:
        self.store.create(GREETING.manifest())
        for name in (HOSTILE, GOOD, KEPT):
            self._make(name)
        self._forge_child()
        world = OperatorWorld(self, self.clock, Random(1), "operator")
        operator = Operator(world, tried_twice((controller(),), self.impure, "tenants"), SETTINGS)
        self._life = asyncio.get_running_loop().create_task(operator.run())
        for number in range(1, EDITS):
            await asyncio.sleep(self._chance.uniform(0.1, 10))
            self._forge(number)
            self._tell(f"=== another text: t{number}")
            for name in (GOOD, KEPT):
                self._patch(f"{ROOT}/{name}", {"spec": {"text": f"t{number}"}})
            await asyncio.sleep(IN_TIME)
            for name in (GOOD, KEPT):
                self._is_reported(name, f"the text is t{number}")
        if self._fought > MOST_WRITES:
            raise Violation("no write storm", f"{self._fought} writes of a status that another overwrites")
        forged = self.store.get("configmaps", ELSEWHERE, "forged")
        if forged is None or "deletionTimestamp" in forged["metadata"]:
            raise Violation("children are in their place", "a forged child of another namespace counts as a child")
        self._is_told(HOSTILE, "ControllerNameTaken", "undoes what Seamark writes in the status of this object")
        self._is_told(KEPT, "DeleteRefused", REFUSAL)
        check_purity(self.impure)

    def _is_reported(self, name: str, message: str) -> None:
        obj = self.store.get(GREETINGS, NAMESPACE, name)
        assert obj is not None
        found = [one for one in obj["status"]["conditions"] if one["type"] == "Published"]
        if not found or found[0]["message"] != message:
            raise Violation("one stops no other", f"{name} should say that {message!r} after {IN_TIME:g} s: {found}")

    def _is_told(self, name: str, reason: str, words: str) -> None:
        told = [one for one in self.store.objects("events") if one["reason"] == reason]
        if not any(words in str(one) and name in str(one) for one in told):
            raise Violation("the user is informed", f"there is no event {reason} on {name}")

    def _tell(self, words: str) -> None:
        self.story.append(f"{self.clock.monotonic():12.3f}  {words}")
        self.lines.append(self.story[-1].encode())

    async def end(self) -> None:
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)
