"""Which error an answer becomes, and what the verbs put on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from seamark_runtime.api.core import Namespace
from seamark_runtime.api.meta import Key
from seamark_runtime.client import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Client, failure
from seamark_runtime.errors import Conflict, Exists, Expired, Fenced, Gone, Refused, Retry, SeamarkError, Uncertain
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import api_path
from tests.unit.runtime.scripted import Lamp, ScriptedTransport, body, failed, lamp, ok, wire
from tests.virtual_time import run

A = Key("ns", "a")
LAMPS = "/apis/test.seamark.dev/v1/namespaces/ns/lamps"
FIELD_CONFLICT: dict[str, Any] = {"causes": [{"reason": "FieldManagerConflict", "field": ".spec.color"}]}
TOO_LARGE: dict[str, Any] = {"causes": [{"reason": "ResourceVersionTooLarge"}]}


def client(answer: Answer | BaseException, **options: Any) -> Client:
    return Client(ScriptedTransport(lambda _request: answer), manager="test", **options)


def sent(made: Client) -> HttpRequest:
    transport = made.transport
    assert isinstance(transport, ScriptedTransport)
    (request,) = transport.sent
    return request


async def do(made: Client, verb: str) -> Any:
    match verb:
        case "get":
            return await made.get(Lamp, A)
        case "create":
            return await made.create(lamp("a"))
        case "patch":
            return await made.merge_patch(Lamp, A, {"spec": {}})
        case "json":
            return await made.json_patch(Lamp, A, [])
        case _:
            return await made.apply(Lamp, A, {"status": {}}, "status")


REACTIONS: list[tuple[str, str, Answer, type[SeamarkError]]] = [
    ("an absent object is gone", "get", failed(404, "NotFound"), Gone),
    ("a create into a missing namespace is refused, for no object is gone", "create", failed(404, "NotFound"), Refused),
    ("a taken name", "create", failed(409, "AlreadyExists"), Exists),
    ("a create that conflicts with a quota", "create", failed(409, "Conflict"), Conflict),
    ("a stale resourceVersion", "patch", failed(409, "Conflict"), Conflict),
    ("a field that belongs to another manager", "apply", failed(409, "Conflict", **FIELD_CONFLICT), Refused),
    ("an old version", "get", failed(410, "Expired"), Expired),
    ("a version of another past", "get", failed(504, "Timeout", **TOO_LARGE), Expired),
    ("a JSON patch whose test does not hold", "json", failed(422, "Invalid"), Conflict),
    ("a JSON patch that makes nonsense", "json", failed(422, "Invalid", causes=[{"field": "spec"}]), Refused),
    ("an invalid object", "patch", failed(422, "Invalid", causes=[{"field": "spec.color"}]), Refused),
    ("a forbidden request", "patch", failed(403, "Forbidden"), Refused),
    ("a busy server", "patch", failed(429, "TooManyRequests"), Retry),
    ("a read that failed inside the server", "get", failed(500, "InternalError"), Retry),
    ("a write that failed inside the server may have landed", "patch", failed(500, "InternalError"), Uncertain),
    ("a server that is not there yet", "get", failed(503, "ServiceUnavailable"), Retry),
    ("a timeout", "get", failed(504, "Timeout"), Retry),
    ("credentials that were not taken are nothing that a user's object did", "patch", failed(401), Retry),
    ("an error that is no Status", "get", Answer(502, b"<html>Bad Gateway</html>"), Retry),
]


@pytest.mark.parametrize(
    ("verb", "answer", "reaction"), [row[1:] for row in REACTIONS], ids=[row[0] for row in REACTIONS]
)
def test_an_answer_becomes_the_reaction_that_it_calls_for(
    verb: str, answer: Answer, reaction: type[SeamarkError]
) -> None:
    with pytest.raises(SeamarkError) as caught:
        run(do(client(answer), verb))
    assert type(caught.value) is reaction


def test_an_object_that_is_gone_has_a_name_and_a_kind_that_is_not_served_has_none() -> None:
    request = HttpRequest("GET", Namespace.RESOURCE.path(name="web"))
    for raw, name in (
        (b'{"reason":"NotFound","message":"the requested resource","details":{"name":"web"}}', "web"),
        (b'{"reason":"NotFound","message":"not found","details":{}}', ""),
        (b"404 page not found", ""),
    ):
        error = failure(request, Answer(404, raw))
        assert isinstance(error, Gone)
        assert error.name == name


def test_a_refusal_has_the_servers_words_and_fields() -> None:
    causes = [{"reason": "FieldValueInvalid", "field": "spec.color", "message": "no"}, {"reason": "x"}]
    with pytest.raises(Refused) as caught:
        run(do(client(failed(422, "Invalid", "lamp is invalid", causes=causes)), "patch"))
    error = caught.value
    assert (error.message, error.reason, error.code, error.fields) == (
        "lamp is invalid",
        "Invalid",
        422,
        ("spec.color",),
    )


@pytest.mark.parametrize(
    ("headers", "details", "after"),
    [
        ({"Retry-After": "7"}, {}, 7.0),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({"Retry-After": "7"}, {"retryAfterSeconds": 3}, 7.0),
        ({"Retry-After": "9" * 400}, {}, 300.0),
        ({}, {"retryAfterSeconds": 1e9}, 300.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_busy_server_says_when_to_come_again(
    headers: dict[str, str], details: dict[str, Any], after: float | None
) -> None:
    answer = Answer(429, failed(429, "TooManyRequests", **details).body, headers)
    with pytest.raises(Retry) as caught:
        run(do(client(answer), "patch"))
    assert caught.value.after == after


def test_words_of_a_server_that_sends_no_status_are_kept_short() -> None:
    with pytest.raises(Retry) as caught:
        run(do(client(Answer(500, b"x" * 9999)), "get"))
    assert caught.value.message == "x" * 200


def test_an_error_without_any_words_names_the_request() -> None:
    with pytest.raises(Retry, match=f"GET {LAMPS}/a answered 500"):
        run(do(client(Answer(500, b"{}")), "get"))


def test_a_write_without_an_answer_is_uncertain_unless_it_was_surely_not_sent() -> None:
    with pytest.raises(Uncertain):
        run(do(client(NoAnswerError("cut")), "patch"))
    with pytest.raises(Retry) as caught:
        run(do(client(NoAnswerError("refused", sent=False)), "patch"))
    assert type(caught.value) is Retry
    with pytest.raises(Retry) as caught:
        run(do(client(NoAnswerError("cut")), "get"))
    assert type(caught.value) is Retry


def test_an_answer_that_cant_be_read_is_no_crash() -> None:
    with pytest.raises(Retry, match="can't be read"):
        run(do(client(Answer(200, b"<html>")), "get"))
    with pytest.raises(Uncertain, match="can't be read"):
        run(do(client(Answer(200, b'{"spec": 7}')), "patch"))


# ---- the write deadline


class Left:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def remaining(self) -> float:
        return self.seconds


@pytest.mark.parametrize("verb", ["create", "patch", "json", "apply"])
def test_no_write_is_sent_after_the_deadline(verb: str) -> None:
    made = client(ok(wire()), write_deadline=Left(0))
    with pytest.raises(Fenced, match="was not sent"):
        run(do(made, verb))
    with pytest.raises(Fenced):
        run(made.delete(Lamp, A, uid="u"))
    assert isinstance(made.transport, ScriptedTransport)
    assert made.transport.sent == []


def test_a_read_is_no_matter_for_the_fence() -> None:
    assert run(do(client(ok(wire()), write_deadline=Left(-5)), "get")).key == A


def test_a_write_has_a_shorter_deadline_than_what_is_left_of_the_lease() -> None:
    made = client(ok(wire()), write_deadline=Left(2.5), timeout=30)
    run(do(made, "patch"))
    assert sent(made).timeout == 2.5
    made = client(ok(wire()), write_deadline=Left(100), timeout=30)
    run(do(made, "patch"))
    assert sent(made).timeout == 30


# ---- the verbs


def test_a_create_posts_the_whole_manifest() -> None:
    made = client(ok(wire(), 201))
    run(made.create(lamp("a", color="red")))
    request = sent(made)
    assert (request.method, request.path, request.query) == ("POST", LAMPS, {"fieldManager": "test"})
    assert body(request)["apiVersion"] == "test.seamark.dev/v1"
    assert body(request)["kind"] == "Lamp"
    assert body(request)["spec"] == {"color": "red"}


def test_an_apply_names_the_object_and_keeps_the_version_that_was_judged() -> None:
    made = client(ok(wire()))
    fields = {"metadata": {"resourceVersion": "7"}, "status": {"watts": 3}}
    run(made.named("other").apply(Lamp, A, fields, "status"))
    request = sent(made)
    assert (request.path, request.content_type) == (f"{LAMPS}/a/status", APPLY_PATCH)
    assert request.query == {"fieldManager": "other", "force": "true"}
    assert body(request) == {
        "apiVersion": "test.seamark.dev/v1",
        "kind": "Lamp",
        "metadata": {"name": "a", "namespace": "ns", "resourceVersion": "7"},
        "status": {"watts": 3},
    }


@pytest.mark.parametrize(("verb", "content_type"), [("patch", MERGE_PATCH), ("json", JSON_PATCH)])
def test_patches_say_what_they_are(verb: str, content_type: str) -> None:
    made = client(ok(wire()))
    run(do(made, verb))
    assert (sent(made).method, sent(made).content_type) == ("PATCH", content_type)


def test_a_delete_means_that_very_object() -> None:
    made = client(ok({"kind": "Status"}))
    run(made.delete(Lamp, A, uid="u1"))
    assert (sent(made).method, sent(made).path) == ("DELETE", f"{LAMPS}/a")
    assert body(sent(made))["preconditions"] == {"uid": "u1"}
    assert body(sent(made))["propagationPolicy"] == "Background"


@pytest.mark.parametrize("answer", [failed(404, "NotFound"), failed(409, "Conflict")])
def test_deleting_what_is_gone_or_replaced_is_success(answer: Answer) -> None:
    run(client(answer).delete(Lamp, A, uid="u1"))


def test_a_delete_of_an_object_as_it_was_seen_conflicts_with_any_change_since() -> None:
    made = client(failed(409, "Conflict"))
    with pytest.raises(Conflict):
        run(made.delete(Lamp, A, uid="u1", version="7"))
    assert body(sent(made))["preconditions"] == {"uid": "u1", "resourceVersion": "7"}


def test_a_list_follows_its_pages_to_the_end() -> None:
    def page(request: HttpRequest) -> Answer:
        if request.query.get("continue") == "more":
            return ok({"metadata": {"resourceVersion": "9"}, "items": [wire("c")]})
        return ok({"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [wire("a"), wire("b")]})

    made = Client(ScriptedTransport(page), manager="test")
    assert [obj.metadata.name for obj in run(made.list(Lamp, query={"labelSelector": "x"}))] == ["a", "b", "c"]


def test_what_a_typed_object_does_not_know_is_not_read() -> None:
    answer = wire("a")
    answer["metadata"]["managedFields"] = [{"manager": "x"}]
    answer["spec"]["future"] = {"x": 1}
    obj = run(client(ok(answer)).get(Lamp, A))
    assert "future" not in json.dumps({"spec": str(obj.spec)})
    assert not hasattr(obj.metadata, "managed_fields")


def test_an_apply_escapes_what_yaml_refuses() -> None:
    """The API server parses an apply as YAML: with a control character in it, it would refuse the status each time."""
    text = "a\x00\x1f\x7f\x80\x85\x9f\u2028\ufffe\U0001f600é\n"
    made = client(ok(wire()))
    run(made.apply(Lamp, A, {"status": {"text": text}}, "status"))
    raw = sent(made).body
    assert yaml.safe_load(raw)["status"]["text"] == text
    assert json.loads(raw)["status"]["text"] == text


def test_an_answer_about_another_object_is_no_answer() -> None:
    with pytest.raises(Retry, match="it is another object"):
        run(client(ok(wire("b"))).get(Lamp, A))
    with pytest.raises(Uncertain, match="it is another object"):
        run(client(ok({"kind": "List", "items": [None]})).merge_patch(Lamp, A, {}))


def test_a_path_that_the_server_does_not_know_is_reported_by_its_resource() -> None:
    request = HttpRequest("POST", api_path("/apis/gateway.networking.k8s.io/v1/namespaces", "shop", "httproutes"))
    error = failure(request, Answer(404, b"404 page not found\n"))
    assert isinstance(error, Refused)
    assert error.message == "httproutes.gateway.networking.k8s.io is not served by this cluster: install its CRD"
