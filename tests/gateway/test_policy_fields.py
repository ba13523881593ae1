"""Every field of a TrafficPolicy through a real Envoy: its effect, and what is restored when it is removed."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp

from seamark.api.kgateway import TrafficPolicy
from tests.gateway.policy_cases import CASES, Case
from tests.gateway.test_hostile_values import accepted
from tests.gateway.test_whole import GROUP, PATIENCE, Whole, whole

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
