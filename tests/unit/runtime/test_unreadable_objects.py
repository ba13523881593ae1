"""An object that can't be read any more exists all the same, and is released when it is deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seamark.api.ngrokingress import Domain
from seamark_edge.api.ngrok import CloudEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.client import OBJECT, Client
from seamark_runtime.errors import Uncertain
from seamark_runtime.source import UNREADABLE, Informer
from seamark_runtime.transport import Answer
from seamark_runtime.untrusted.decoding import Malformed
from seamark_runtime.untrusted.partialread import readable_part
from seamark_runtime.view import View
from seamark_runtime.watchevents import Broken, Put, Removed, Restarted, Synced
from tests.unit.runtime.scripted import HANG, Lamp, ScriptedTransport, bookmark, lamp
from tests.unit.runtime.test_source import informer, told
from tests.unit.runtime.test_untrusted_objects import LIMIT, deep, event
from tests.unit.runtime.test_watch_states import follow
from tests.virtual_time import run

A = Key("ns", "a")
OURS = "example.org/lamp"


def document(spec: bytes, version: int = 2, status: bytes = b"{}", **metadata: Any) -> bytes:
    identity = {"name": "a", "namespace": "ns", "uid": "uid-a", "resourceVersion": str(version), **metadata}
    return b'{"metadata":%b,"spec":%b,"status":%b}' % (json.dumps(identity).encode(), spec, status)


def leaving(version: int = 2, finalizer: str = OURS, spec: bytes = b"") -> bytes:
    spec = spec or b'{"color":"red","names":%b}' % deep()
    return document(spec, version, deletionTimestamp="2026-01-01T00:00:00Z", finalizers=[finalizer])


def marking() -> Informer[Lamp]:
    made = informer()
    made.finalizers = frozenset((OURS,))
    return made


def received(made: Informer[Lamp], *raws: bytes) -> None:
    """The informer gets what a watch makes of these."""
    seen, _ = follow(ScriptedTransport(streams=[[bookmark(1, initial=True), *raws, HANG]]), 1)
    for found in seen:
        made.handle(found)


# ---- what can be read of an object


def test_fields_that_can_be_read_are_as_they_are_and_the_others_have_their_default() -> None:
    part = readable_part(document(b'{"color":"red","names":%b}' % deep(), status=b'{"watts":7}'), Lamp, OBJECT)
    assert (part.key, part.spec.color, part.spec.names) == (A, "red", None)
    assert part.status is not None
    assert part.status.watts == 7


def test_a_status_or_metadata_that_can_not_be_read_is_left_out() -> None:
    raw = document(b'{"color":"red"}', status=b'{"watts":%b}' % deep(), annotations={"a": ["no text"]})
    part = readable_part(raw, Lamp, OBJECT)
    assert (part.key, part.metadata.annotations, part.status) == (A, None, None)


@pytest.mark.parametrize(
    "spec", [b'{"url":7}', deep(), b"[]", b"{}"], ids=["of another type", "deep", "a list", "empty"]
)
def test_a_required_field_that_can_not_be_read_is_empty(spec: bytes) -> None:
    assert readable_part(document(spec), CloudEndpoint, OBJECT).spec.url == ""
    assert readable_part(document(spec), Domain, OBJECT).key == A


@pytest.mark.parametrize("raw", [b"", b"[]", b"7", b"{"])
def test_what_is_no_object_has_no_part(raw: bytes) -> None:
    with pytest.raises(Malformed):
        readable_part(raw, Lamp, OBJECT)


# ---- one that is being deleted


def test_an_unreadable_object_that_is_deleted_while_it_has_our_finalizer_is_there_to_be_released() -> None:
    made = marking()
    received(made, event("ADDED", document(b'{"color":"red"}')), event("MODIFIED", leaving(3)))
    found = made.cache.get(A)
    assert found is not None
    assert (found.deleting, found.metadata.finalizers, found.spec.color) == (True, (OURS,), "red")
    assert (made.broken, made.revision) == ({}, 3)


def test_without_our_finalizer_it_is_not_read_in_part() -> None:
    made = marking()
    received(made, event("ADDED", leaving(3, finalizer="example.org/other")))
    assert (made.cache.get(A), list(made.broken)) == (None, [A])
    received(made, event("MODIFIED", document(b'{"names":%b}' % deep(), finalizers=[OURS])))
    assert made.cache.get(A) is None


def test_one_for_which_an_index_raises_is_released_all_the_same() -> None:
    made = informer(Index(Lamp, lambda obj: (int(obj.spec.color),), "lamps by number"))
    made.finalizers = frozenset((OURS,))
    obj = readable_part(leaving(3, spec=b'{"color":"no number"}'), Lamp, OBJECT)
    for found in (Restarted(), Put(obj), Synced("10")):
        made.watch._deliver(found, made.handle)
    assert (made.cache.get(A), made.broken) == (obj, {})


def test_the_answer_to_a_write_to_an_object_that_is_being_deleted_is_read_as_far_as_it_can_be() -> None:
    client = Client(ScriptedTransport(lambda _request: Answer(200, leaving(3))), manager="test")
    assert run(client.merge_patch(Lamp, A, {})).metadata.resource_version == "3"
    staying = Client(ScriptedTransport(lambda _request: Answer(200, document(deep()))), manager="test")
    with pytest.raises(Uncertain):
        run(staying.merge_patch(Lamp, A, {}))


# ---- one that stays


def test_an_unreadable_object_is_not_gone() -> None:
    made = marking()
    view = View({Lamp: made}, 0.0)
    for found in (Restarted(), Put(lamp("a")), Synced("10")):
        made.handle(found)
    assert view.unreadable(Lamp) == {}
    tokens = told(made)
    made.handle(Broken(A, "uid-a", "11", LIMIT))
    assert (view.get(Lamp, A), view.unreadable(Lamp)) == (None, {A: "uid-a"})
    made.handle(Restarted())
    assert view.unreadable(Lamp) == {A: "uid-a"}, "a list is no evidence before it is complete"
    made.handle(Synced("12"))
    assert view.unreadable(Lamp) == {}
    assert tokens.count(UNREADABLE) == 2
    assert (made, UNREADABLE) in view.reads


@pytest.mark.parametrize("after", [Put(lamp("a", version=12)), Removed(lamp("a", version=12))])
def test_who_has_read_what_is_unreadable_is_requeued_when_that_ends(after: Put[Lamp] | Removed[Lamp]) -> None:
    made = marking()
    for found in (Restarted(), Broken(A, "uid-a", "5", LIMIT), Synced("10"), Restarted()):
        made.handle(found)
    tokens = told(made)
    made.handle(after)
    assert made.unreadable() == {}
    assert UNREADABLE in tokens


def test_metadata_is_read_and_changed_whatever_else_an_object_contains() -> None:
    """By which an uninstall takes our finalizers off everything."""
    raw = document(deep(), finalizers=[OURS])
    listed = Client(ScriptedTransport(lambda _request: Answer(200, b'{"items":[%b]}' % raw)), manager="test")
    (found,) = run(listed.list_metadata(Lamp))
    assert (found.name, found.finalizers) == ("a", (OURS,))
    transport = ScriptedTransport(lambda _request: Answer(200, raw))
    client = Client(transport, manager="test")
    run(client.patch_metadata(Lamp, A, {"finalizers": []}))
    assert json.loads(transport.sent[0].body) == {"metadata": {"finalizers": []}}
    assert run(client.get_metadata(Lamp, A)).uid == "uid-a"
