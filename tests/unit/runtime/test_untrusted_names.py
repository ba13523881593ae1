"""Names from objects never lead a request elsewhere: what no object can be called is refused before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest
from aiohttp import web

from seamark_runtime.api.core import Namespace, Secret
from seamark_runtime.api.meta import Key, ObjectMeta, Resource
from seamark_runtime.client import Client
from seamark_runtime.errors import Refused
from seamark_runtime.follow import Follower, Unreadable
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import InvalidName, NameRule, received_path
from tests.unit.runtime.scripted import ScriptedTransport
from tests.unit.runtime.test_http import to, transport
from tests.unit.runtime.tls_server import serving
from tests.virtual_time import run, settle

VICTIM = "../../tenant-b/secrets/victim-tls"
BAD = [VICTIM, "..", ".", "a/b", "a%2fb", "%2e%2e", "a?b", "a#b", "A", "", "x" * 254, "a\0b", "ä"]

Verb = Callable[[Client, Key], Coroutine[Any, Any, object]]
VERBS: dict[str, Verb] = {
    "get": lambda client, key: client.get(Secret, key),
    "merge_patch": lambda client, key: client.merge_patch(Secret, key, {}),
    "json_patch": lambda client, key: client.json_patch(Secret, key, []),
    "apply": lambda client, key: client.apply(Secret, key, {}),
    "delete": lambda client, key: client.delete(Secret, key, uid="1"),
    "status": lambda client, key: client.merge_patch(Secret, key, {}, "status"),
}
IN_NAMESPACE: dict[str, Verb] = {
    "create": lambda client, key: client.create(Secret(metadata=ObjectMeta(name=key.name, namespace=key.namespace))),
    "list": lambda client, key: client.list(Secret, namespace=key.namespace),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", BAD, ids=lambda name: ascii(name)[:30])
def test_no_verb_sends_a_request_for_a_name_that_no_object_can_have(verb: str, name: str) -> None:
    sent = ScriptedTransport()
    with pytest.raises(Refused, match="is not a valid name") as refused:
        run(VERBS[verb](Client(sent, manager="test"), Key("tenant-a", name)))
    assert (refused.value.reason, sent.sent) == ("Invalid", [])


@pytest.mark.parametrize("verb", [*VERBS, *IN_NAMESPACE])
@pytest.mark.parametrize("namespace", ["..", "../x", "a/b", "a.b", "A", "x" * 64])
def test_no_verb_sends_a_request_into_a_namespace_that_can_not_be(verb: str, namespace: str) -> None:
    sent = ScriptedTransport()
    with pytest.raises(Refused, match="is not a valid name"):
        run({**VERBS, **IN_NAMESPACE}[verb](Client(sent, manager="test"), Key(namespace, "a")))
    assert sent.sent == []


@pytest.mark.parametrize("verb", VERBS)
def test_an_object_without_a_namespace_is_not_taken_for_one_of_all_namespaces(verb: str) -> None:
    sent = ScriptedTransport()
    with pytest.raises(Refused, match="Secret is namespaced"):
        run(VERBS[verb](Client(sent, manager="test"), Key("", "a")))
    assert sent.sent == []


def test_a_secret_named_by_a_path_is_unreadable_and_no_request_is_sent() -> None:
    async def story() -> None:
        sent = ScriptedTransport()
        follower = Follower(Client(sent, manager="test"), Secret, Random(1), every=10)
        key = Key("tenant-a", VICTIM)
        follower.get(key)
        await settle()
        fact = follower.get(key)
        assert isinstance(fact, Unreadable)
        assert "must be a DNS subdomain" in fact.message
        await asyncio.sleep(100)
        assert sent.sent == []
        await follower.stop()

    run(story())


def test_each_kind_has_its_own_rule_for_names() -> None:
    role = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False, NameRule.SEGMENT)
    assert role.path(name="system:node") == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"
    assert role.path(name="a b") == "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b"
    with pytest.raises(InvalidName, match="path segment"):
        role.path(name="..")
    with pytest.raises(InvalidName, match="DNS label"):
        Namespace.RESOURCE.path(name="a.b")


def test_the_path_of_a_collection_and_of_an_object() -> None:
    assert Secret.RESOURCE.path() == "/api/v1/secrets"
    assert Secret.RESOURCE.path("ns") == "/api/v1/namespaces/ns/secrets"
    assert Secret.RESOURCE.path("ns", "a.b", "status") == "/api/v1/namespaces/ns/secrets/a.b/status"


def test_the_http_library_resolves_no_dots_and_quotes_nothing_twice() -> None:
    raw: list[str] = []

    async def note(request: web.Request) -> web.StreamResponse:
        raw.append(request.raw_path)
        return web.Response(text="{}")

    async def program() -> None:
        async with serving(None, note) as seen, transport(to(seen)) as made:
            path = received_path("/api/v1/namespaces/a/secrets/../../b/x%2e%2e%2fy")
            await made.send(HttpRequest("GET", path, {"labelSelector": "a=b c", "x": "../y&z=1"}))
            async with made.stream(HttpRequest("GET", path, {"watch": "1"})):
                pass

    asyncio.run(program())
    sent = "/api/v1/namespaces/a/secrets/../../b/x%2e%2e%2fy"
    assert raw == [f"{sent}?labelSelector=a%3Db+c&x=..%2Fy%26z%3D1", f"{sent}?watch=1"]
