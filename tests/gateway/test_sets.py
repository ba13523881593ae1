"""Policies of listener sets, and conditions of others in our entries, with the whole family and a real Envoy."""

from __future__ import annotations

from typing import Any

import aiohttp

from seamark.api.kgateway import TrafficPolicy
from seamark_runtime.api.gateway import Gateway, HTTPRoute
from tests.gateway.test_hostile_values import accepted
from tests.gateway.whole import GROUP, Whole, header, whole


def attached(scene: Whole, name: str) -> str:
    ancestors = (scene.get(TrafficPolicy, name).get("status") or {}).get("ancestors") or [{}]
    found: dict[str, str] = {each["type"]: each["reason"] for each in ancestors[0].get("conditions") or ()}
    return found.get("Attached", "")


def test_a_policy_selects_listener_sets_by_label_and_is_attached_before_there_is_a_route() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.edit(Gateway, "gateway", {"spec": {"allowedListeners": {"namespaces": {"from": "Same"}}}})
        scene.apply(
            "ListenerSet",
            "team",
            {"parentRef": {"name": "gateway"}, "listeners": [{"name": "own", "port": 8081, "protocol": "HTTP"}]},
            metadata={"labels": {"team": "red"}},
        )
        added = {"response": {"set": [header("x-team", "red")]}}
        selector = {"group": GROUP, "kind": "ListenerSet", "matchLabels": {"team": "red"}}
        scene.apply("TrafficPolicy", "chosen", {"targetSelectors": [selector], "headerModifiers": added})
        target = {"group": GROUP, "kind": "ListenerSet", "name": "team"}
        scene.apply("TrafficPolicy", "named", {"targetRefs": [target], "timeouts": {"request": "9s"}})
        await scene.until(lambda: attached(scene, "chosen") == "Attached", "it is attached without a route")
        await scene.until(lambda: attached(scene, "named") == "Attached", "so is the one that names the set")
        assert accepted(scene, "chosen")["status"] == "True"
        rules = [{"backendRefs": [{"name": "web", "port": 80}]}]
        scene.apply("HTTPRoute", "r", {"parentRefs": [{"kind": "ListenerSet", "name": "team"}], "rules": rules})
        await scene.until(lambda: scene.condition("r").get("status") == "True", "the route is accepted")
        assert await answered(scene) == "red"

    whole(test)


async def answered(scene: Whole) -> str:
    """The header that the policy sets, once the route is served."""
    found: list[str] = []
    async with aiohttp.ClientSession() as session:
        while not found:
            async with session.get(f"http://{scene.address}:8081/") as response:
                found += [response.headers.get("x-team", "none")] if response.status == 200 else []
    return found[0]


def test_a_condition_that_another_writer_sets_in_our_entry_is_kept() -> None:
    audited: dict[str, Any] = {
        "type": "example.com/Audited",
        "status": "True",
        "reason": "Fine",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }

    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("r")
        await scene.until(lambda: scene.condition("r").get("status") == "True", "the route is accepted")
        [entry] = scene.get(HTTPRoute, "r")["status"]["parents"]
        entry["conditions"].append(audited)
        scene.edit_status(HTTPRoute, "r", {"status": {"parents": [entry]}})
        rule = {"matches": [{"path": {"value": "/new"}}], "backendRefs": [{"name": "web", "port": 80}]}
        scene.edit(HTTPRoute, "r", {"spec": {"rules": [rule]}})
        await scene.until(lambda: scene.condition("r").get("observedGeneration") == 2, "the change is judged")
        assert scene.condition("r", "example.com/Audited") == audited

    whole(test)
