"""Scenarios of a family: YAML in, golden YAML out.

A file has two documents. The first has what is `given` (objects as they are in the cluster), what was `refused`
(children by role, with the server's message) and how `calls` were answered. The second is what the family wants and
reports then, for each object whose status it writes. `UPDATE_GOLDEN=1` writes the second document anew: read the
difference.

Nothing runs here but the family's own pure functions, on real caches: no loop, no client, no clock.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import yaml

from seamark_runtime.api.meta import Key, Object, ObjectMeta, document, to_wire
from seamark_runtime.apply import Answers, Refusal
from seamark_runtime.cache import Cache, Index
from seamark_runtime.calls import Call, Failed, Results
from seamark_runtime.client import Client
from seamark_runtime.clock import timestamp
from seamark_runtime.conditions import Stamp
from seamark_runtime.controller import CollectionController, Controller, Declaration, Wanted, children, kinds
from seamark_runtime.errors import Refused
from seamark_runtime.follow import Followed, Follower
from seamark_runtime.memory import acknowledge
from seamark_runtime.source import Absent, Fresh, Informer
from seamark_runtime.view import View
from seamark_runtime.watch import Watch
from tests import status_rules

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NOW = timestamp(EPOCH)
FOR_EVER = float("inf")
PHASED = ("ResourceClaim",)  # others have defined these, with a phase


def files(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.yaml"))
    assert found, f"no scenarios in {folder}"
    return found


def check(path: Path, controllers: Iterable[Declaration]) -> None:
    """Plays the scenario and compares with its golden second document."""
    text = path.read_text()
    given, golden = [*yaml.safe_load_all(text), None][:2]
    got = plain(Play(tuple(controllers), given).run())
    if os.environ.get("UPDATE_GOLDEN"):
        first = text.split("\n---\n")[0].rstrip()
        path.write_text(f"{first}\n---\n{yaml.safe_dump(got, sort_keys=False, width=118)}")
        return
    assert got == golden, f"{path.name} (UPDATE_GOLDEN=1 writes it anew)"


class Singles(Follower[Any]):
    """Objects that are read one by one, as they are given."""

    def __init__(self, kind: type[Object]) -> None:
        super().__init__(Client(None, manager="nobody"), kind, Random(0), 0.0)  # type: ignore[arg-type]  # nothing is sent
        self._given: dict[Key, Object] = {}

    def put(self, obj: Object) -> None:
        self._given[obj.key] = obj

    def get(self, key: Key) -> Followed[Any]:
        return Fresh(self._given[key]) if key in self._given else Absent()


class Play:
    """One look of every controller at what is given: groups first, as their reports are facts for the others."""

    def __init__(self, controllers: tuple[Declaration, ...], given: Mapping[str, Any]) -> None:
        self._controllers = controllers
        self._given = given
        everything = dict.fromkeys(kind for controller in controllers for kind in kinds(controller))
        self._informers = {kind: self._informer(kind) for kind in everything}
        self._singles = {kind: Singles(kind) for controller in controllers for kind in controller.reads.singles}
        for manifest in given["given"]:
            self._put(manifest)

    def _informer(self, kind: type[Object]) -> Informer[Any]:
        indexes: list[Index[Any]] = [i for c in self._controllers for i in c.reads.indexes if i.kind is kind]
        informer: Informer[Any] = Informer(Watch(Client(None, manager="nobody"), kind, Random(0)), ())  # type: ignore[arg-type]  # nothing is sent
        informer.cache = Cache(indexes)
        return informer

    def _put(self, manifest: Mapping[str, Any]) -> None:
        places: dict[type[Object], Any] = {
            **{kind: one.cache for kind, one in self._informers.items()},
            **self._singles,
        }
        wanted = (manifest["apiVersion"], manifest["kind"])
        found = [kind for kind in places if (kind.RESOURCE.api_version, kind.RESOURCE.kind) == wanted]
        assert found, f"{manifest['kind']} is not read by this family"
        for kind in found:
            places[kind].put(msgspec.convert(manifest, kind))

    def run(self) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for controller in self._controllers:
            if isinstance(controller, CollectionController):
                said.update(self._group(controller))
        for controller in self._controllers:
            if isinstance(controller, Controller):
                for obj in sorted(self._informers[controller.kind].cache, key=lambda one: one.key):
                    if (told := self._object(controller, obj)) is not None:
                        said[f"{controller.kind.RESOURCE.kind} {obj.key}"] = told
        return said

    def _view(self) -> View:
        return View(self._informers, 0.0, self._singles, date=EPOCH)

    def _group(self, group: CollectionController[Any]) -> dict[str, Any]:
        """Publishes the reports of every key; what a key wants is shown."""
        said = {}
        keyed = ((obj, keys) for kind, keys in group.keyed.items() for obj in self._informers[kind].cache)
        for key in dict.fromkeys(key for obj, keys in keyed for key in keys(obj)):
            asked = self._observed(group, key, Results())
            seen = asked and self._observed(group, key, self._results(group.desire(asked).calls))
            if seen is not None:
                wanted = group.desire(seen)
                in_place(group, Object(metadata=ObjectMeta(name=key.name, namespace=key.namespace)), wanted)
                for output in group.outputs:
                    output.publish(key, seen, self._answers(wanted))
                acknowledge(group.memory, seen, self._answers(wanted))
                if shown := shown_wants(wanted):
                    said[f"{group.name} {key}"] = {"wanted": shown}
        return said

    def _observed(self, controller: Declaration, subject: Any, results: Results) -> Any:
        view = self._view()
        if controller.memory is not None:
            controller.memory.advance(view, subject, results)
        return controller.observe(view, subject, results)

    def _object(self, controller: Controller[Any], obj: Any) -> dict[str, Any] | None:
        asked = self._observed(controller, obj, Results())
        if asked is None:
            return None
        calls = controller.desire(asked).calls
        seen = controller.observe(self._view(), obj, self._results(calls))
        wanted = controller.desire(seen)
        in_place(controller, obj, wanted)
        answers = self._answers(wanted)
        judged = controller.judge(seen, answers)
        mode = controller.status
        status = mode.stamped(judged, mode.published(obj, judged), Stamp(obj.metadata.generation or None, NOW))
        notices = controller.announce(seen, answers) if controller.announce else ()
        self._by_the_rules(obj, status)
        return {
            **({"wanted": shown} if (shown := shown_wants(wanted)) else {}),
            "status": to_wire(status),
            **({"events": [asdict(notice) for notice in notices]} if notices else {}),
        }

    def _by_the_rules(self, obj: Any, status: Any) -> None:
        """The status keeps to the rules of trustworthy status, also as a successor of the one before."""
        before = document(obj)
        after = {**before, "metadata": {**before["metadata"], "resourceVersion": "2"}, "status": to_wire(status)}
        phased = obj.RESOURCE.kind in PHASED
        violations = status_rules.check([before, after])
        broken = [one for one in violations if one.version == "2" and not (phased and one.rule == 7)]
        assert not broken, "; ".join(map(str, broken))

    def _results(self, calls: Iterable[Call[Any]]) -> Results:
        told: Mapping[str, Any] = self._given.get("calls") or {}
        answers = {}
        for call in calls:
            if call.target in told:
                answer = told[call.target]
                outcome = given_failure(answer) or given_answer(call, answer.get("value"))
                answers[call.target] = Results.answer(call, outcome, 0.0 if answer.get("stale") else FOR_EVER)
        return Results(answers, 0.0)

    def _answers(self, wanted: Wanted) -> Answers:
        refused = self._given.get("refused") or {}
        refusals = {role: Refusal(**refused[role]) for role in wanted.children if role in refused}
        made = {role: child for role, child in wanted.children.items() if role not in refusals}
        return Answers(made, refusals, tuple(map(Refusal, self._given.get("undeleted") or ())))


def in_place(controller: Declaration, owner: Object, wanted: Wanted) -> None:
    """Every child is wanted where children of this owner are found again."""
    for child in wanted.children.values():
        children(controller).check(owner, child)


def given_failure(answer: Mapping[str, Any]) -> Failed | None:
    """A failure of any kind, or one that is a refusal."""
    if "refused" in answer:
        return Failed(answer["refused"], Refused(answer["refused"], reason=answer.get("reason", "")))
    return Failed(answer["failed"]) if "failed" in answer else None


def given_answer(call: Call[Any], value: Any) -> Any:
    """An action may name the type of its answers."""
    kind = getattr(call.action, "ANSWER", None)
    return value if kind is None else msgspec.convert(value, kind)


def shown_wants(wanted: Wanted) -> dict[str, Any]:
    shown = {
        "children": {role: document(child) for role, child in wanted.children.items()},
        "calls": [{"target": call.target, "action": type(call.action).__name__} for call in wanted.calls],
        "annotations": dict(wanted.annotations),
        "finalizer": wanted.finalizer,
    }
    return {name: value for name, value in shown.items() if value}


def plain(value: Any) -> Any:
    """As YAML would give it back."""
    return yaml.safe_load(yaml.safe_dump(value, sort_keys=False))
