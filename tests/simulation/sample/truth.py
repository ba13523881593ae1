"""What is true of a greeting, found out from the store and the board alone; and what its status may say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from tests.simulation.faults import RESTORES, Fault
from tests.simulation.invariants import conditions_of
from tests.simulation.sample.acts import GREETINGS, NAMESPACE, owners
from tests.simulation.sample.board import NEVER
from tests.simulation.scenario import Violation

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write

WATCH_IDLE = 4000.0  # seconds for which a watch without events is trusted in the simulator
SEEN_LATELY = 60.0  # seconds for which an answer of the API server is evidence enough: a pass, its faults, its retries
TOLD_LATELY = 400.0  # seconds for which a refusal explains a False: the longest backoff, and more
OURS = ("Published", "Posted", "Ready")


class Truth:
    """Records what was written and what was true; raises where a status does not match.

    - `shelf_life`: for how long a board's answer is evidence.
    """

    def __init__(self, world: World, shelf_life: float) -> None:
        self._world = world
        self._shelf_life = shelf_life
        self._specs: dict[tuple[str, int], dict[str, Any]] = {}  # (uid, generation) → spec
        self._texts: dict[str, list[tuple[float, str | None]]] = {}  # owner uid → the text of its ConfigMap, since when
        self._holders: dict[str, list[tuple[float, list[str] | None]]] = {}  # ConfigMap → its owners, since when
        self.made: Counter[str] = Counter()

    def learn(self, obj: Any) -> None:
        self._specs[(obj["metadata"]["uid"], obj["metadata"]["generation"])] = obj["spec"]

    def learn_again(self, config_maps: list[Any]) -> None:
        """A restore: these are the ConfigMaps, whatever was received about others."""
        now = self._world.clock.monotonic()
        for history in self._texts.values():
            history.append((now, None))
        for holders in self._holders.values():
            holders.append((now, None))
        for obj in config_maps:
            self._holders.setdefault(obj["metadata"]["name"], []).append((now, owners(obj)))
            for owner in owners(obj):
                self._texts.setdefault(owner, []).append((now, obj["data"].get("text")))

    def config_map_changed(self, event: Event) -> None:
        now = self._world.clock.monotonic()
        for obj, text in ((event.old, None), (event.new, (event.new or {}).get("data", {}).get("text"))):
            for owner in owners(obj):
                self._texts.setdefault(owner, []).append((now, text))
        holders = None if event.new is None else owners(event.new)
        self._holders.setdefault(event.key[1], []).append((now, holders))

    def count(self, write: Write) -> None:
        if write.path.endswith("/configmaps") and self._alive(owners(write.answer)):
            self.made["created"] += 1
        if "/configmaps/" in write.path and write.method == "DELETE":
            self.made["deleted"] += 1

    def _alive(self, uids: list[str]) -> bool:
        """A child of an owner that is gone, which we can't know yet, is collected and does not count."""
        return any(obj["metadata"]["uid"] in uids for obj in self._world.store.objects(GREETINGS))

    # ---- at every write of a status

    def judge(self, old: Any, new: Any) -> None:
        """A status was written by the operator."""
        before = conditions_of(old) if old else {}
        for name, condition in conditions_of(new).items():
            if name not in OURS or before.get(name) == condition:
                continue
            match condition["status"]:
                case "True":
                    self._no_lie(new, name, condition)
                case "False":
                    self._no_false_alarm(new, name)
                case "Unknown":
                    self._unsays_nothing(new, name, before.get(name), condition)

    def _no_lie(self, obj: Any, name: str, condition: Any) -> None:
        uid, now = obj["metadata"]["uid"], self._world.clock.monotonic()
        spec = self._specs[(uid, condition["observedGeneration"])]
        if name in ("Published", "Ready") and not self._was_published(uid, spec["text"], now):
            raise Violation("no lie", f"{name} is True, but the ConfigMap never said {spec['text']!r}")
        if name in ("Posted", "Ready") and spec.get("board") and self._age(uid, spec, now) > self._shelf_life:
            raise Violation("no lie", f"{name} is True, but the board has not confirmed {spec['text']!r} in time")

    def _was_published(self, uid: str, text: str, now: float) -> bool:
        """Whether the ConfigMap had that text lately."""
        history = self._texts.get(uid, [])
        for number, (_since, said) in enumerate(history):
            until = history[number + 1][0] if number + 1 < len(history) else now
            if said == text and until >= now - SEEN_LATELY:
                return True
        return False

    def _age(self, uid: str, spec: dict[str, Any], now: float) -> float:
        return float(now - self._world.outside.confirmed.get((spec["board"], uid, spec["text"]), NEVER))

    def _no_false_alarm(self, obj: Any, name: str) -> None:
        if name == "Published" and not self._has_excuse(obj):
            raise Violation("no false alarm", "Published is False, but the ConfigMap was not refused")
        if name == "Posted" and not self._board_failed(obj):
            raise Violation("no false alarm", "Posted is False, but the board has not failed")

    def _has_excuse(self, obj: Any) -> bool:
        silence = WATCH_IDLE if Fault.HALF_OPEN in self._world.befallen else 0.0
        lately = self._world.clock.monotonic() - TOLD_LATELY - silence
        history = self._holders.get(obj["metadata"]["name"], [])
        for number, (_since, holders) in enumerate(history):
            until = history[number + 1][0] if number + 1 < len(history) else float("inf")
            if holders is not None and obj["metadata"]["uid"] not in holders and until >= lately:
                return True
        return any(time >= lately and "/configmaps" in path for time, _, path in self._world.failures)

    def _board_failed(self, obj: Any) -> bool:
        """The board it should be on; or, while it goes, any that it may still be on."""
        lately, uid, going = self._world.clock.monotonic() - TOLD_LATELY, obj["metadata"]["uid"], _is_going(obj)
        troubles = self._world.outside.troubled.items()
        board = obj["spec"].get("board", "")
        return any(time >= lately and owner == uid and (going or name == board) for (name, owner), time in troubles)

    def _unsays_nothing(self, obj: Any, name: str, before: Any, condition: Any) -> None:
        """What was verified is not taken back for want of an answer before its evidence is too old."""
        if before is None or before["status"] != "True" or name == "Ready" or _is_going(obj):
            return
        if set(self._world.befallen) & set(RESTORES):
            return  # the remote side was not restored with the cluster
        spec, generation = obj["spec"], condition["observedGeneration"]
        if before.get("observedGeneration") != generation or generation != obj["metadata"]["generation"]:
            return
        if name == "Published" or self._age(obj["metadata"]["uid"], spec, self._world.clock.monotonic()) < (
            self._shelf_life - 1
        ):
            raise Violation("no early Unknown", f"{name} was True for generation {generation}, and is Unknown now")

    # ---- at rest

    def wrong(self, obj: Any) -> str:
        """What is not as it should be with a greeting at rest; empty when all is."""
        world = self._world
        meta, spec = obj["metadata"], obj["spec"]
        if _is_going(obj):
            return "it is still being deleted"
        config_map = world.store.get("configmaps", NAMESPACE, meta["name"])
        if config_map is None:
            return "it has no ConfigMap"
        ours = meta["uid"] in owners(config_map)
        if ours and config_map["data"] != {"text": spec["text"]}:
            return f"its ConfigMap says {config_map['data']}"
        posted = {board: text for (board, owner), text in world.outside.posts.items() if owner == meta["uid"]}
        wanted = {spec["board"]: spec["text"]} if spec.get("board") else {}
        lost = set(world.befallen) & set(RESTORES)  # what we have forgotten with the past we can't take down
        if posted != wanted and not (lost and wanted.items() <= posted.items()):
            return f"on the boards is {posted}, and should be {wanted}"
        return self._statement_wrong(obj, published=ours)

    def _statement_wrong(self, obj: Any, *, published: bool) -> str:
        conditions, generation = conditions_of(obj), obj["metadata"]["generation"]
        for name, expected in self._expected(obj, published=published).items():
            condition = conditions.get(name)
            if condition is None:
                return f"{name} is not said"
            if condition.get("observedGeneration") != generation:
                return f"{name} speaks of generation {condition.get('observedGeneration')}, not {generation}"
            if condition["status"] != expected:
                return f"{name} is {condition['status']}, and should be {expected}: {condition['message']}"
        if obj["status"].get("observedGeneration") != generation:
            return f"the status speaks of generation {obj['status'].get('observedGeneration')}, not {generation}"
        ref = (obj["status"].get("configMapRef") or {}).get("name")
        if ref != (obj["metadata"]["name"] if published else None):
            return f"configMapRef is {ref}"
        return ""

    def _expected(self, obj: Any, *, published: bool) -> dict[str, str]:
        verified = not obj["spec"].get("board") or self._verified(obj)
        ready = "False" if not published else "True" if verified else "Unknown"
        return {
            "Published": "True" if published else "False",
            "Posted": "True" if verified else "Unknown",
            "Ready": ready,
        }

    def _verified(self, obj: Any) -> bool:
        age = self._age(obj["metadata"]["uid"], obj["spec"], self._world.clock.monotonic())
        return age < self._shelf_life

    def left(self, alive: Collection[str] = ()) -> str:
        """What is left of greetings that are gone."""
        world = self._world
        for obj in world.store.objects("configmaps"):
            if owners(obj) and not set(owners(obj)) & set(alive):
                return f"the ConfigMap {obj['metadata']['name']} is left"
        for (board, owner), text in world.outside.posts.items():
            if owner not in alive and not set(world.befallen) & set(RESTORES):
                return f"{text!r} is left on {board}"
        return ""


def _is_going(obj: Any) -> bool:
    return "deletionTimestamp" in obj["metadata"]
