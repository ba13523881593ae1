"""Values of tenants with a real Envoy: what can't be served is reported on its own object, and the rest is served."""

from __future__ import annotations

from typing import Any

import aiohttp

from seamark.api.kgateway import TrafficPolicy
from seamark_edge.dataplane.model import Cluster, Endpoints, Entry, Forward, Headers, Match, RouteTable, VirtualHost
from seamark_edge.dataplane.model import Target as To
from seamark_edge.dataplane.protocol import Rejected, Served
from seamark_runtime.api.gateway import HTTPRoute
from tests.gateway.test_envoy import ORIGIN, Scene, text, with_envoy
from tests.gateway.whole import GROUP, Whole, whole

Json = dict[str, Any]

POLICIES: dict[str, Json] = {
    "attempts": {"retry": {"attempts": 2**32}},
    "codes": {"retry": {"statusCodes": [2**40]}},
    "causes": {"retry": {"retryOn": ["5xx,reset"]}},
    "duration": {"timeouts": {"request": "9" * 400 + "s"}},
    "header": {"headerModifiers": {"request": {"set": [{"name": "host", "value": "x"}]}}},
    "line": {"headerModifiers": {"response": {"set": [{"name": "x", "value": "a\r\nb: c"}]}}},
    "tokens": {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 2**33, "fillInterval": "1s"}}}},
    "cors": {"cors": {"allowHeaders": ["a\r\nset-cookie: x"], "maxAge": 2**63}},
}


def accepted(scene: Whole, name: str) -> Json:
    ancestors = (scene.get(TrafficPolicy, name).get("status") or {}).get("ancestors") or [{}]
    found: dict[str, Json] = {one["type"]: one for one in ancestors[0].get("conditions") or ()}
    return found.get("Accepted", {})


def test_policies_that_can_not_be_encoded_are_refused_one_by_one_and_the_gateway_is_served() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        for name, spec in POLICIES.items():
            scene.route(name, matches=[{"path": {"value": f"/{name}"}}])
            target = {"group": GROUP, "kind": "HTTPRoute", "name": name}
            scene.apply("TrafficPolicy", name, {"targetRefs": [target], **spec})
        scene.route("good", matches=[{"path": {"value": "/good"}}])
        for name in POLICIES:
            await scene.until(lambda name=name: bool(accepted(scene, name)), f"{name} is told")  # type: ignore[misc]
            said = accepted(scene, name)
            assert (said["status"], said["reason"]) == ("False", "Invalid"), (name, said)
        await scene.answers_so("/good", 200)
        await scene.answers_so("/attempts", 200)
        await scene.answers_so("/tokens", 500)  # what protects is never left out
        await scene.served()

    whole(test)


def test_rules_that_envoy_would_refuse_are_told_and_the_others_are_served() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        lines = [{"name": "x-a", "value": "1\r\nx-b: 2"}]
        change = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": lines}}
        scene.route("bad", filters=[change], matches=[{"path": {"value": "/bad"}}])
        scene.route("good", matches=[{"path": {"value": "/good"}}])
        await scene.until(lambda: scene.condition("bad").get("status") == "False", "it is told")
        assert "filters[0].requestHeaderModifier.set[0].value" in scene.condition("bad")["message"]
        await scene.answers_so("/good", 200)
        scene.edit(HTTPRoute, "bad", {"spec": {"rules": [{"backendRefs": [{"name": "web", "port": 80}]}]}})
        await scene.until(lambda: scene.condition("bad").get("status") == "True", "mended, it is taken")

    whole(test)


def test_what_envoy_would_take_for_a_command_is_sent_as_it_is() -> None:
    async def test(scene: Scene) -> None:
        value = "100% %REQ(authorization)% %DOWNSTREAM_REMOTE_ADDRESS%"
        snapshot = scene.snapshot(("/", "one"))
        entry = Entry(Match("/"), Forward((To("one"),)), ORIGIN, response=Headers(set=(("x-as-it-is", value),)))
        snapshot.tables["http"] = RouteTable("http", (VirtualHost(("*",), (entry,)),))  # type: ignore[index]
        assert await scene.program(snapshot) == Served(1)
        async with aiohttp.ClientSession() as session, session.get(scene.url("/")) as response:
            assert response.headers["x-as-it-is"] == value

    with_envoy(test)


def test_a_resource_that_can_not_be_encoded_is_refused_and_the_last_good_one_is_served() -> None:
    """Behind all checks: the stream goes on, and so does everything else of the gateway."""

    async def test(scene: Scene) -> None:
        assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
        bad = scene.snapshot(("/", "two"))
        bad.endpoints["two"] = Endpoints("two", (("127.0.0.1", 2**40),))  # type: ignore[index]
        bad.clusters["two"] = Cluster("two")  # type: ignore[index]
        outcome = await scene.program(bad)
        assert isinstance(outcome, Rejected)
        assert "can't be encoded" in outcome.message
        async with aiohttp.ClientSession() as session:
            assert await text(session, scene.url("/")) == (200, "one")
            assert await scene.program(scene.snapshot(("/", "two"))) == Served(1)
            assert await text(session, scene.url("/")) == (200, "two")

    with_envoy(test)
