"""Taking over from a predecessor; children followed by name; groups whose keys are what reports speak of."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.apply import Applier
from seamark_runtime.client import Client
from seamark_runtime.controller import CollectionController, Output, Wanted, Writes
from seamark_runtime.expectations import Expectations
from seamark_runtime.follow import Follower
from seamark_runtime.marks import missing_marks, without_finalizer
from seamark_runtime.metrics import Metrics
from seamark_runtime.ownership import ByReference
from seamark_runtime.rbac import Grant, grants
from seamark_runtime.request import Request
from seamark_runtime.source import Collection, Fresh
from seamark_runtime.status import ByManager
from seamark_runtime.transport import Answer, HttpRequest
from tests.unit.runtime.scripted import LampStatus, ScriptedTransport, body, failed, lamp, ok
from tests.unit.runtime.test_router import Woken, lamps_controller
from tests.virtual_time import CLOCK, run, settle

OURS, THEIRS, OTHER = "x/ours", "x/theirs", "x/other"
KEPT = lamps_controller(writes=Writes(kept=(Secret,)))
SUCCESSOR = lamps_controller(writes=Writes(finalizers=(OURS, THEIRS)))


def with_finalizers(*names: str) -> Any:
    obj = lamp("a", uid="u1")
    return replace(obj, metadata=replace(obj.metadata, finalizers=names))


def test_our_finalizer_takes_the_place_of_a_predecessors_in_one_write() -> None:
    marks = missing_marks(SUCCESSOR, with_finalizers(THEIRS, OTHER), Wanted(finalizer=True))
    assert marks == {"finalizers": [OTHER, OURS]}
    assert missing_marks(SUCCESSOR, with_finalizers(OTHER, OURS), Wanted(finalizer=True)) == {}
    assert missing_marks(SUCCESSOR, with_finalizers(THEIRS), Wanted()) == {"finalizers": []}


def test_what_is_going_is_let_go_for_the_predecessor_too() -> None:
    assert without_finalizer(SUCCESSOR, with_finalizers(THEIRS, OTHER)) == {"finalizers": [OTHER]}
    assert without_finalizer(SUCCESSOR, with_finalizers(OTHER)) == {}


def test_a_word_of_a_predecessor_that_we_do_not_repeat_is_taken_away() -> None:
    standing: dict[str, Any] = {"metadata": {"name": "a", "namespace": "ns", "resourceVersion": "8"}, "spec": {}}
    standing["status"] = {"watts": 40, "conditions": []}
    sent: list[tuple[str, Any]] = []

    def respond(request: HttpRequest) -> Answer:
        sent.append((request.content_type, body(request)))
        return ok(standing)

    async def program() -> None:
        mode = ByManager(manager="lamps", conditions=(), fields=("watts",))
        await mode.write(Client(ScriptedTransport(respond), manager="x"), lamp("a"), LampStatus())

    run(program())
    assert [kind for kind, _ in sent] == ["application/apply-patch+yaml", "application/merge-patch+json"]
    assert sent[1][1] == {"metadata": {"resourceVersion": "8"}, "status": {"watts": None}}


def test_a_secret_is_kept_without_being_listed() -> None:
    found = {grant for grant in grants(KEPT) if grant.resource == "secrets"}
    assert found == {Grant("", "secrets", verb) for verb in ("get", "create", "patch")}


def test_a_kept_child_is_made_and_then_known_and_changed_only_if_it_differs() -> None:
    held: dict[str, Any] = {}
    sent: list[str] = []

    def respond(request: HttpRequest) -> Answer:
        sent.append(request.method)
        if request.method == "GET":
            return ok(held["secret"]) if held else failed(404, "NotFound")
        held["secret"] = {
            **body(request),
            "metadata": {**body(request)["metadata"], "uid": "s1", "resourceVersion": "5"},
        }
        return ok(held["secret"])

    async def program() -> None:
        client = Client(ScriptedTransport(respond), manager="seamark")
        follower = Follower(client, Secret, Random(1), every=10)
        applier = Applier(client, {}, Expectations(lambda _item: None), CLOCK, Metrics(), {Secret: follower})
        owner, item = lamp("a", uid="u1"), Request("lamps", Key("ns", "a"))
        secret = Secret(metadata=ObjectMeta(name="tls", namespace="ns"), data={"a": b"1"})
        follower.get(secret.key)
        await settle()
        for _ in range(2):
            await applier.ensure(item, owner, ByReference(), {"tls": secret}, lasting=False)
        assert sent == ["GET", "POST"]
        known = follower.get(secret.key)
        assert isinstance(known, Fresh)
        assert known.value.uid == "s1"
        await follower.stop()

    run(program())


def test_what_reports_speak_of_is_a_key_of_the_group() -> None:
    plans: Collection[Key, str] = Collection("plans")
    group: CollectionController[Any] = CollectionController(
        name="projections",
        desire=lambda _seen: Wanted(),
        keyed={},
        observe=lambda _view, _key, _results: None,
        subjects=(plans,),
        outputs=(Output(Collection("nothing"), lambda _seen, _answers: {}),),
    )
    woken = Woken(group)
    plans.publish(Key("", "poll"), {Key("ns", "early"): "a"})
    woken.router.start()
    assert woken.items == []
    plans.sync()
    assert woken.items == [Request("projections", Key("ns", "early"))]
    plans.publish(Key("", "poll"), {Key("ns", "late"): "b"})
    assert woken.items[1:] == [Request("projections", Key("ns", name)) for name in ("early", "late")]
