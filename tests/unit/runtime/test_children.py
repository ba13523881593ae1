"""Children and marks: made, changed, pruned; never into a foreign object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key, ObjectMeta, OwnerReference, to_wire
from seamark_runtime.apply import Answers, Applier, Pruned
from seamark_runtime.client import Client
from seamark_runtime.controller import Wanted, Writes
from seamark_runtime.errors import Conflict, Retry
from seamark_runtime.expectations import Expectations
from seamark_runtime.marks import change_metadata, missing_marks, without_finalizer
from seamark_runtime.metrics import Metrics
from seamark_runtime.ownership import MANAGED_BY, ByLabels, ByReference
from seamark_runtime.request import Request
from seamark_runtime.source import Informer
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Put, Restarted, Synced
from tests.unit.runtime.scripted import ScriptedTransport, TopOfTheRange, body, failed, lamp, ok
from tests.unit.runtime.test_router import lamps_controller
from tests.virtual_time import CLOCK, run

OWNER = lamp("a", uid="u1")
ITEM = Request("lamps", OWNER.key)
OWNERSHIP = ByReference()
LABELS = ByLabels(manager="seamark", name_label="x/name", namespace_label="x/namespace")


def child(text: str = "hello", **meta: Any) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="c", namespace="ns", **meta), data={"text": text})


def live(obj: ConfigMap, **meta: Any) -> ConfigMap:
    """As the API server has it."""
    return replace(obj, metadata=replace(obj.metadata, uid="m1", resource_version="50", **meta))


OURS = live(OWNERSHIP.claim(OWNER, child()))


class Bench:
    """An applier over a cache with these objects, and a server that answers so."""

    def __init__(self, respond: Callable[[HttpRequest], Answer], *cached: ConfigMap) -> None:
        self.transport = ScriptedTransport(respond)
        client = Client(self.transport, manager="seamark")
        informer: Informer[Any] = Informer(Watch(client, ConfigMap, TopOfTheRange()))
        informer.handle(Restarted())
        for obj in cached:
            informer.handle(Put(obj))
        informer.handle(Synced("100"))
        self.expectations = Expectations(lambda _item: None)
        self.expectations.attach(informer)
        self.applier = Applier(client, {ConfigMap: informer}, self.expectations, CLOCK, Metrics())

    def ensure(self, wanted: ConfigMap, *, lasting: bool = False) -> tuple[Answers, Retry | None]:
        async def program() -> tuple[Answers, Retry | None]:
            return await self.applier.ensure(ITEM, OWNER, OWNERSHIP, {"map": wanted}, lasting=lasting)

        return run(program())

    def prune(self, *existing: ConfigMap, lasting: bool = False) -> Pruned:
        async def program() -> Pruned:
            return await self.applier.prune(ITEM, existing, (), lasting=lasting)

        return run(program())

    @property
    def sent(self) -> list[str]:
        return [request.method for request in self.transport.sent]


def echo(request: HttpRequest) -> Answer:
    sent = body(request)
    metadata = {"uid": "m1", **sent.get("metadata", {}), "name": "c", "namespace": "ns", "resourceVersion": "150"}
    return ok({**sent, "metadata": metadata})


def test_a_child_is_made_with_its_owner_and_its_coming_is_expected() -> None:
    bench = Bench(echo)
    answers, trouble = bench.ensure(child())
    assert trouble is None
    assert bench.sent == ["POST"]
    assert body(bench.transport.sent[0])["metadata"]["ownerReferences"][0]["uid"] == "u1"
    ref = answers.ref("map")
    assert ref is not None
    assert (ref.namespace, ref.name, ref.uid) == ("ns", "c", "m1")
    assert bench.expectations.park(ITEM)


def test_a_child_as_wanted_costs_nothing() -> None:
    bench = Bench(echo, OURS)
    answers, _ = bench.ensure(child())
    assert bench.sent == []
    assert answers.child("map") is OURS
    assert not bench.expectations.park(ITEM)


def test_a_child_that_differs_is_patched_with_its_identity() -> None:
    bench = Bench(echo, OURS)
    bench.ensure(child("other"))
    (request,) = bench.transport.sent
    assert request.method == "PATCH"
    assert body(request) == {"data": {"text": "other"}, "metadata": {"uid": "m1", "resourceVersion": "50"}}


def test_a_strangers_object_is_never_written_to() -> None:
    bench = Bench(echo, live(child("theirs")))
    answers, _ = bench.ensure(child())
    assert bench.sent == []
    refusal = answers.refusal("map")
    assert refusal is not None
    assert refusal.taken
    assert refusal.message == "ConfigMap ns/c exists and is not managed by Seamark"
    assert answers.child("map") is None
    assert answers.ref("map") is None


def test_a_name_that_was_taken_a_moment_ago_is_looked_at() -> None:
    theirs = to_wire(live(child("theirs")))
    bench = Bench(lambda request: failed(409, "AlreadyExists") if request.method == "POST" else ok(theirs))
    answers, _ = bench.ensure(child())
    assert bench.sent == ["POST", "GET"]
    refusal = answers.refusal("map")
    assert refusal is not None
    assert refusal.taken


def test_our_own_child_that_the_cache_does_not_show_yet_is_adopted() -> None:
    bench = Bench(lambda request: failed(409, "AlreadyExists") if request.method == "POST" else ok(to_wire(OURS)))
    answers, _ = bench.ensure(child())
    assert bench.sent == ["POST", "GET"]
    assert answers.ref("map") is not None


def test_a_child_that_is_going_is_waited_for() -> None:
    bench = Bench(echo, replace(OURS, metadata=replace(OURS.metadata, deletion_timestamp="2026-01-01T00:00:00Z")))
    answers, _ = bench.ensure(child("other"))
    assert bench.sent == []
    refusal = answers.refusal("map")
    assert refusal is not None
    assert "is being deleted" in refusal.message


def test_a_refusal_is_an_answer_in_the_servers_words() -> None:
    bench = Bench(lambda _request: failed(403, "Forbidden", "exceeded quota"))
    answers, trouble = bench.ensure(child())
    assert trouble is None
    refusal = answers.refusal("map")
    assert refusal is not None
    assert (refusal.message, refusal.reason, refusal.taken) == ("exceeded quota", "Forbidden", False)


def test_a_passing_failure_ends_the_pass_and_becomes_an_answer_when_it_lasts() -> None:
    bench = Bench(lambda _request: failed(500, "InternalError", "on fire"))
    with pytest.raises(Retry):
        bench.ensure(child())
    answers, trouble = bench.ensure(child(), lasting=True)
    assert trouble is not None
    refusal = answers.refusal("map")
    assert refusal is not None
    assert refusal.message == "on fire"


def test_a_prune_deletes_what_is_ours_as_it_was_seen() -> None:
    bench = Bench(lambda _request: ok({}), OURS)
    assert bench.prune(OURS) == Pruned(pending=True)
    (request,) = bench.transport.sent
    assert body(request)["preconditions"] == {"uid": "m1", "resourceVersion": "50"}
    assert bench.expectations.park(ITEM)


def test_a_prune_of_what_is_gone_is_success_and_of_what_changed_is_a_conflict() -> None:
    assert Bench(lambda _request: failed(404, "NotFound"), OURS).prune(OURS) == Pruned(pending=True)
    with pytest.raises(Conflict):
        Bench(lambda _request: failed(409, "Conflict"), OURS).prune(OURS)


def test_what_is_going_already_is_not_deleted_again_but_still_there() -> None:
    going = replace(OURS, metadata=replace(OURS.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    bench = Bench(lambda _request: ok({}), going)
    assert bench.prune(going) == Pruned(pending=True)
    assert bench.sent == []
    assert bench.prune() == Pruned(pending=False)


def test_a_refused_delete_is_an_answer_and_a_failing_one_becomes_it_when_it_lasts() -> None:
    refused = Bench(lambda _request: failed(403, "Forbidden", "not on my watch"), OURS).prune(OURS)
    (refusal,) = refused.refusals
    assert (refused.pending, refusal.message) == (
        True,
        f"ConfigMap {OURS.key} is not deleted: not on my watch",
    )
    failing = Bench(lambda _request: failed(500, "InternalError", "on fire"), OURS)
    with pytest.raises(Retry):
        failing.prune(OURS)
    lasting = failing.prune(OURS, lasting=True)
    assert lasting.trouble is not None
    assert len(lasting.refusals) == 1


# ---- ownership


def test_an_owner_is_known_by_its_uid_so_a_namesake_is_none() -> None:
    assert OWNERSHIP.token(OWNER) in set(OWNERSHIP.owners(OURS))
    assert OWNERSHIP.token(lamp("a", uid="u2")) not in set(OWNERSHIP.owners(OURS))


def test_labels_name_an_owner_in_another_namespace() -> None:
    marked = LABELS.claim(OWNER, child(labels={"own": "1"}))
    assert marked.metadata.labels == {"own": "1", MANAGED_BY: "seamark", "x/name": "a", "x/namespace": "ns"}
    assert list(LABELS.owners(marked)) == [Key("ns", "a")]
    assert list(LABELS.owners(child(labels={"x/name": "a", "x/namespace": "ns"}))) == []


# ---- marks

MARKED = lamps_controller(writes=Writes(finalizers=("x/ours",), annotations=("x/board",)))


def marked(finalizers: tuple[str, ...] = (), **annotations: str) -> Any:
    names = {name.replace("_", "/"): value for name, value in annotations.items()}
    return replace(OWNER, metadata=replace(OWNER.metadata, finalizers=finalizers, annotations=names or None))


@pytest.mark.parametrize(
    ("obj", "wanted", "patch"),
    [
        (marked(), Wanted(), {}),
        (marked(("theirs",)), Wanted(finalizer=True), {"finalizers": ["theirs", "x/ours"]}),
        (marked(("theirs", "x/ours")), Wanted(), {"finalizers": ["theirs"]}),
        (marked(("x/ours",)), Wanted(finalizer=True), {}),
        (marked(), Wanted(annotations={"x/board": "b"}), {"annotations": {"x/board": "b"}}),
        (marked(x_board="b", y_their="1"), Wanted(annotations={"x/board": "b"}), {}),
        (marked(x_board="b", y_their="1"), Wanted(), {"annotations": {"x/board": None}}),
    ],
)
def test_marks_are_ours_alone_and_those_of_others_stay(obj: Any, wanted: Wanted, patch: dict[str, Any]) -> None:
    assert missing_marks(MARKED, obj, wanted) == patch


def test_only_our_finalizer_is_taken_off() -> None:
    assert without_finalizer(MARKED, marked(("x/ours", "theirs"))) == {"finalizers": ["theirs"]}
    assert without_finalizer(MARKED, marked(("theirs",))) == {}


def test_a_mark_on_an_object_whose_spec_moved_on_is_a_conflict() -> None:
    moved = to_wire(replace(OWNER, metadata=replace(OWNER.metadata, generation=2)))
    transport = ScriptedTransport(lambda _request: ok(moved))
    with pytest.raises(Conflict):
        run(change_metadata(Client(transport, manager="x"), OWNER, {"finalizers": ["x/ours"]}, lasting=False))
    sent = body(transport.sent[0])["metadata"]
    assert (sent["uid"], sent["resourceVersion"]) == ("u1", "1")


def test_two_references_of_one_owner_are_one_owner() -> None:
    ref = OwnerReference(api_version="v1", kind="K", name="n", uid="u1")
    assert set(OWNERSHIP.owners(child(owner_references=(ref, ref)))) == {OWNERSHIP.token(OWNER)}


def test_what_refers_to_an_owner_from_another_namespace_is_not_its_child() -> None:
    ref = OwnerReference(api_version="v1", kind="K", name="n", uid=OWNER.uid)
    foreign = ConfigMap(metadata=ObjectMeta(name="c", namespace="elsewhere", owner_references=(ref,)))
    assert OWNERSHIP.token(OWNER) not in set(OWNERSHIP.owners(foreign))
