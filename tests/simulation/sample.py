"""The sample family in the simulator: greetings, their ConfigMaps, a board outside, and what is true of them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from seamark.api.crd import CRD
from seamark.core.errors import Retry
from seamark.core.transport import Answer, Request
from seamark.core.waker import Declaration
from seamark.families.sample.controller import controller
from seamark.families.sample.family import GREETING
from tests.simulation.faults import Fault
from tests.simulation.invariants import StatusHistory, conditions_of
from tests.simulation.scenario import Step, Violation

if TYPE_CHECKING:
    from seamark.cluster.embedded.revisions import Event
    from tests.simulation.world import World, Write

GREETINGS = "greetings.sample.seamark.dev"
SHELF_LIFE = 3 * 3600.0
VERIFY_EVERY = 3600.0
NAMESPACE = "default"


class TwinBoard:
    """The board, with the troubles that the world sends it. It remembers when each post was last confirmed."""

    def __init__(self) -> None:
        self.posts: dict[tuple[str, str], str] = {}
        self.confirmed: dict[tuple[str, str, str], float] = {}
        self.world: World | None = None

    async def post(self, board: str, owner: str, text: str) -> None:
        await self._trouble(lambda: self.posts.__setitem__((board, owner), text))
        self.confirmed[(board, owner, text)] = asyncio.get_running_loop().time()

    async def retract(self, board: str, owner: str) -> None:
        await self._trouble(lambda: self.posts.pop((board, owner), None))

    async def _trouble(self, effect: Callable[[], object]) -> None:
        world = self.world
        assert world is not None
        await asyncio.sleep(0.005)
        if world.under(Fault.OUTSIDE_REFUSES):
            raise Retry("the board is closed")
        if world.under(Fault.OUTSIDE_HANGS):
            await asyncio.Event().wait()
        effect()
        if world.under(Fault.OUTSIDE_LOSES):
            await asyncio.Event().wait()


class SampleScenario:
    name = "sample"
    crds: tuple[CRD, ...] = (GREETING,)

    def __init__(self) -> None:
        self._history = StatusHistory()
        self._specs: dict[tuple[str, int], dict[str, Any]] = {}  # (uid, generation) → spec
        self._texts: dict[str, list[tuple[float, str | None]]] = {}  # owner uid → what its ConfigMap said, since when
        self._made: Counter[str] = Counter()
        self._world: World | None = None
        self._first_revision = 0

    def outside(self) -> TwinBoard:
        return TwinBoard()

    def controllers(self, outside: Any) -> tuple[Declaration, ...]:
        return (controller(outside, shelf_life=SHELF_LIFE, verify_every=VERIFY_EVERY),)

    def attach(self, world: World) -> None:
        self._world = world
        self._first_revision = world.store.revisions.current
        world.outside.world = world
        world.store.revisions.subscribe(GREETINGS, self._greeting_changed)
        world.store.revisions.subscribe("configmaps", self._config_map_changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        return (
            Step("a greeting", lambda world: create(world, "plain", text="one")),
            Step("a greeting for a board", lambda world: create(world, "posted", text="two", board="quay")),
            Step("somebody has a ConfigMap", lambda world: foreign_config_map(world, "taken", "mine")),
            Step("a greeting of that name", lambda world: create(world, "taken", text="three")),
            Step("another text", lambda world: edit(world, "plain", text="four")),
            Step("the ConfigMap is deleted by hand", lambda world: delete_config_map(world, "plain")),
            Step("the ConfigMap is edited by hand", lambda world: edit_config_map(world, "posted", "scribble")),
            Step("another board", lambda world: edit(world, "posted", text="five", board="pier")),
            Step("the status is wiped", lambda world: wipe_status(world, "posted")),
            Step("the stranger leaves", lambda world: delete_config_map(world, "taken")),
            Step("a greeting goes and comes again", lambda world: recreate(world, "posted", text="six", board="quay")),
            Step("the operator restarts", lambda world: world.restart_operator()),
            Step("no board any more", lambda world: edit(world, "posted", text="seven", board="")),
            Step("back on a board", lambda world: edit(world, "posted", text="seven", board="quay")),
            Step("a greeting goes", lambda world: delete(world, "posted")),
        )

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))
        self._history.forget()

    # ---- what is true

    def _greeting_changed(self, event: Event) -> None:
        world = self._world
        if event.new is None or world is None:
            return
        meta = event.new["metadata"]
        self._specs[(meta["uid"], meta["generation"])] = event.new["spec"]
        with world.watching():
            self._history.check(event.old, event.new, world.clock.wall())

    def _config_map_changed(self, event: Event) -> None:
        for obj, text in ((event.old, None), (event.new, (event.new or {}).get("data", {}).get("text"))):
            for owner in owners(obj):
                now = self._world.clock.monotonic() if self._world else 0.0
                self._texts.setdefault(owner, []).append((now, text))

    def wrote(self, world: World, write: Write) -> None:
        if write.took_effect and write.path.endswith("/configmaps"):
            self._made["created"] += 1
        if write.took_effect and "/configmaps/" in write.path and write.method == "DELETE":
            self._made["deleted"] += 1
        if "/configmaps/" in write.path and write.took_effect:
            self._not_the_strangers(write)
        if write.is_status and write.code < 300 and write.fault not in (Fault.TIMEOUT_AFTER,):
            self._no_lie(world, write.answer)

    def _not_the_strangers(self, write: Write) -> None:
        if write.method != "DELETE" and not any(True for _ in owners(dict(write.answer))):
            raise Violation("not ours", f"{write.path} was not made by us, and was written")

    def _no_lie(self, world: World, obj: Any) -> None:
        uid, now = obj["metadata"]["uid"], world.clock.monotonic()
        for name, condition in conditions_of(obj).items():
            if condition["status"] != "True":
                continue
            spec = self._specs[(uid, condition["observedGeneration"])]
            if name in ("Published", "Ready") and not self._was_published(uid, spec["text"], now):
                raise Violation("no lie", f"{name} is True, but the ConfigMap never said {spec['text']!r}")
            if name in ("Posted", "Ready") and spec.get("board") and not self._was_posted(world, uid, spec, now):
                raise Violation("no lie", f"{name} is True, but the board has not confirmed {spec['text']!r} in time")

    def _was_published(self, uid: str, text: str, now: float) -> bool:
        """Whether the ConfigMap said so at some moment of the last minute."""
        history = self._texts.get(uid, [])
        for number, (_since, said) in enumerate(history):
            until = history[number + 1][0] if number + 1 < len(history) else now
            if said == text and until >= now - 60:
                return True
        return False

    def _was_posted(self, world: World, uid: str, spec: dict[str, Any], now: float) -> bool:
        confirmed = world.outside.confirmed.get((spec["board"], uid, spec["text"]), float("-inf"))
        return bool(now - confirmed <= SHELF_LIFE)

    # ---- at rest

    def unsettled(self, world: World) -> str:
        collect_garbage(world)
        alive = {obj["metadata"]["uid"]: obj for obj in world.store.objects(GREETINGS)}
        for obj in alive.values():
            if words := self._greeting_unsettled(world, obj):
                return f"{obj['metadata']['name']}: {words}"
        for (board, owner), text in world.outside.posts.items():
            if owner not in alive and not set(world.befallen) & {Fault.RESTORE}:
                return f"{text!r} is left on {board}"
        return ""

    def _greeting_unsettled(self, world: World, obj: Any) -> str:
        meta, spec = obj["metadata"], obj["spec"]
        if "deletionTimestamp" in meta:
            return "it is still being deleted"
        config_map = world.store.get("configmaps", NAMESPACE, meta["name"])
        ours = config_map is not None and meta["uid"] in owners(config_map)
        if ours and config_map is not None and config_map["data"].get("text") != spec["text"]:
            return "its ConfigMap has another text"
        if config_map is None:
            return "it has no ConfigMap"
        posted = {board: text for (board, owner), text in world.outside.posts.items() if owner == meta["uid"]}
        wanted = {spec["board"]: spec["text"]} if spec.get("board") else {}
        if posted != wanted and not set(world.befallen) & {Fault.RESTORE}:
            return f"on the boards is {posted}, and should be {wanted}"
        return statement_wrong(obj, published=ours)

    def summary(self, world: World) -> Any:
        objects = [
            (
                obj["metadata"]["name"],
                obj["spec"],
                sorted(conditions_of(obj)),
                [c["status"] for c in conditions_of(obj).values()],
            )
            for obj in world.store.objects(GREETINGS)
        ]
        texts = [(obj["metadata"]["name"], obj["data"]) for obj in world.store.objects("configmaps")]
        return {"greetings": objects, "config maps": texts, **self._made}


def statement_wrong(obj: Any, *, published: bool) -> str:
    """What the status says wrongly or not at all; empty when it is right."""
    conditions, generation = conditions_of(obj), obj["metadata"]["generation"]
    truth = {"Published": published, "Posted": True, "Ready": published}
    for name, expected in truth.items():
        condition = conditions.get(name)
        if condition is None:
            return f"{name} is not said"
        if condition.get("observedGeneration") != generation:
            return f"{name} speaks of generation {condition.get('observedGeneration')}, not {generation}"
        if condition["status"] != str(expected):
            return f"{name} is {condition['status']}, and should be {expected}: {condition['message']}"
    ref = (obj["status"].get("configMapRef") or {}).get("name")
    if ref != (obj["metadata"]["name"] if published else None):
        return f"configMapRef is {ref}"
    return ""


# ---- acts


def create(world: World, name: str, **spec: str) -> None:
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": {"team": "harbour"}}
    world.store.create(
        {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "metadata": metadata, "spec": spec}
    )


def edit(world: World, name: str, **spec: str) -> None:
    if world.store.get(GREETINGS, NAMESPACE, name) is not None:
        patch(world, f"/apis/sample.seamark.dev/v1alpha1/namespaces/{NAMESPACE}/greetings/{name}", {"spec": spec})


def delete(world: World, name: str) -> None:
    if world.store.get(GREETINGS, NAMESPACE, name) is not None:
        world.store.delete(GREETINGS, NAMESPACE, name)


def recreate(world: World, name: str, **spec: str) -> None:
    """Deletes it, and makes it again as soon as the name is free: at once where nothing holds it."""
    delete(world, name)
    world.intentions += 1

    def again() -> None:
        if world.store.get(GREETINGS, NAMESPACE, name) is None:
            world.intentions -= 1
            world.act("the name is free: it comes again")
            create(world, name, **spec)
        else:
            asyncio.get_running_loop().call_later(0.05, again)

    again()


def wipe_status(world: World, name: str) -> None:
    path = f"/apis/sample.seamark.dev/v1alpha1/namespaces/{NAMESPACE}/greetings/{name}/status"
    if world.store.get(GREETINGS, NAMESPACE, name) is not None:
        patch(world, path, {"status": None})


def foreign_config_map(world: World, name: str, text: str) -> None:
    metadata = {"name": name, "namespace": NAMESPACE}
    world.store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}})


def delete_config_map(world: World, name: str) -> None:
    world.store.delete("configmaps", NAMESPACE, name)


def edit_config_map(world: World, name: str, text: str) -> None:
    if world.store.get("configmaps", NAMESPACE, name) is not None:
        patch(world, f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}", {"data": {"text": text, "note": "by hand"}})


def patch(world: World, path: str, body: Any) -> None:
    request = Request("PATCH", path, body=json.dumps(body).encode(), content_type="application/merge-patch+json")
    answer = world.store.handle(request)
    assert isinstance(answer, Answer)
    assert answer.status == 200, answer.body


def owners(obj: Any) -> list[str]:
    return [ref["uid"] for ref in ((obj or {}).get("metadata") or {}).get("ownerReferences") or ()]


def collect_garbage(world: World) -> None:
    """What kube-controller-manager does: children of an owner that is gone go, too."""
    alive = {obj["metadata"]["uid"] for obj in world.store.objects(GREETINGS)}
    for obj in world.store.objects("configmaps"):
        if owners(obj) and not alive & set(owners(obj)):
            world.store.delete("configmaps", NAMESPACE, obj["metadata"]["name"])
