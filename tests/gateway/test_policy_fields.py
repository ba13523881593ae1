"""Every field of a TrafficPolicy through a real Envoy: its effect, and what is restored when it is removed."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp

from seamark.api.kgateway import TrafficPolicy
from seamark_runtime.api.core import Secret
from tests.gateway.policy_cases import CASES, SECRETS, Case
from tests.gateway.test_blame import b64
from tests.gateway.test_hostile_values import accepted
from tests.gateway.whole import GROUP, PATIENCE, Whole, whole

Answer = int | tuple[int, str]


def target(case: Case, section: str = "") -> dict[str, Any]:
    named = {"group": GROUP, "kind": "HTTPRoute", "name": case.name}
    return {"targetRefs": [{**named, "sectionName": section} if section else named]}


async def answer(scene: Whole, case: Case) -> Answer:
    url = f"http://{scene.address}:8080/{case.name}"
    async with (
        aiohttp.ClientSession(headers=case.headers) as session,
        session.request(case.method, url, data=case.body or None) as response,
    ):
        return (response.status, response.headers.get(case.shown, "")) if case.shown else response.status


async def answers(scene: Whole, wanted: dict[Case, Answer]) -> None:
    """Each case gets its answer, and keeps it."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    for case, expected in wanted.items():
        while (found := await answer(scene, case)) != expected:
            assert asyncio.get_running_loop().time() < deadline, (case.name, found, expected)
            await asyncio.sleep(0.05)
    for case, expected in wanted.items():
        assert await answer(scene, case) == expected, case.name


def test_every_field_has_its_effect_and_its_removal_restores_what_was_under_it() -> None:
    plain: dict[Case, Answer] = {case: (200, "") if case.shown else 200 for case in CASES}

    async def test(scene: Whole) -> None:
        await scene.served()
        for name, entries in SECRETS.items():
            scene.apply("Secret", name, data={key: b64(value.encode()) for key, value in entries.items()})
        for case in CASES:
            backends = [{"name": "web", "port": 80}]
            rule = {"name": "rule", "matches": [{"path": {"value": f"/{case.name}"}}], "backendRefs": backends}
            scene.apply("HTTPRoute", case.name, {"parentRefs": [{"name": "gateway"}], "rules": [rule]})
        await answers(scene, plain)
        for case in CASES:
            scene.apply("TrafficPolicy", case.name, {**target(case), **case.route})
        await answers(scene, {case: case.under for case in CASES})
        for case in CASES:
            scene.apply("TrafficPolicy", f"{case.name}-rule", {**target(case, "rule"), **case.rule})
        await answers(scene, {case: case.over for case in CASES})
        for case in CASES:
            for name in (case.name, f"{case.name}-rule"):
                await scene.until(lambda name=name: accepted(scene, name).get("status") == "True", name)  # type: ignore[misc]
        for case in CASES:
            scene.store.delete(str(TrafficPolicy.RESOURCE), "default", f"{case.name}-rule")
        await answers(scene, {case: case.under for case in CASES})
        for case in CASES:
            scene.store.delete(str(TrafficPolicy.RESOURCE), "default", case.name)
        await answers(scene, plain)
        await scene.served()

    whole(test)


def test_a_secret_that_changes_is_in_effect_and_one_that_goes_leaves_the_last_good_users() -> None:
    """Policies rule 2: what protects is never left out."""

    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("shop")
        on_route = {"group": GROUP, "kind": "HTTPRoute", "name": "shop"}
        protected = {"targetRefs": [on_route], "apiKeyAuth": {"secretRef": {"name": "keys"}}}
        await scene.answers_so("/", 200)
        scene.apply("TrafficPolicy", "keys", protected)
        await scene.answers_so("/", 500)
        await scene.until(lambda: accepted(scene, "keys").get("status") == "False", "the policy reports it")
        assert "apiKeyAuth.secretRef: Secret keys does not exist" in accepted(scene, "keys")["message"]
        scene.apply("Secret", "keys", data={"shop": b64(b"first-key")})
        await scene.answers_so("/", 401)
        assert (await scene.answers("/", **{"api-key": "first-key"}))[0] == 200
        scene.edit(Secret, "keys", {"data": {"shop": b64(b"second-key")}})
        await settled(scene, "second-key", 200)
        assert (await scene.answers("/", **{"api-key": "first-key"}))[0] == 401
        scene.edit(Secret, "keys", {"data": {"bank": b64(b"third key")}})
        await scene.until(lambda: accepted(scene, "keys").get("status") == "False", "a bad entry is reported")
        assert "its last valid settings are still in effect" in accepted(scene, "keys")["message"]
        assert "third key" not in str(scene.get(TrafficPolicy, "keys"))
        scene.store.delete(str(Secret.RESOURCE), "default", "keys")
        await scene.until(lambda: "does not exist" in accepted(scene, "keys").get("message", ""), "it is reported")
        assert (await scene.answers("/", **{"api-key": "second-key"}))[0] == 200
        assert (await scene.answers("/"))[0] == 401

    whole(test)


async def settled(scene: Whole, key: str, status: int) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while (await scene.answers("/", **{"api-key": key}))[0] != status:
        assert asyncio.get_running_loop().time() < deadline, status
        await asyncio.sleep(0.05)
