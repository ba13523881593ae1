"""Two tenants on the embedded API server: one is hostile to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.gateway.family import TRAFFIC_POLICY
from seamark.families.loadbalancer.model.options import Intervals as EdgeTiming
from seamark.families.score.family import CRDS as SCORE
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Object
from seamark_runtime.controller import Declaration
from seamark_runtime.operator import Operator
from tests.cluster.embedded_scene import Json, Scene, living
from tests.simulation.gateway import KINDS

ZONE = "example.test"
SCORE_KINDS = (*SCORE, DNS_ENDPOINT)
CANARY = "c4n4ry-8a1f2b"
VICTIM, ATTACKER = "victim", "attacker"
TENANTS = (VICTIM, ATTACKER)
TIMING = EdgeTiming(poll=0.2, verify=5.0, shelf_life=20.0, spacing=0.05, linger=0.5, soon=0.2)
GATEWAY_KINDS = (*(CRD(kind=kind) for kind in KINDS), TRAFFIC_POLICY)


def story(scene: Scene, declared: tuple[Declaration, ...], play: Callable[[Operator], Awaitable[None]]) -> None:
    async def program() -> None:
        async with living(scene.store, declared) as operator:
            await play(operator)

    asyncio.run(program())


def status_of(scene: Scene, kind: type[Object], name: str, type_: str, namespace: str) -> str:
    return str(scene.condition(kind, name, type_, namespace).get("status", ""))


def listener(scene: Scene, name: str) -> Json:
    found = (scene.get(Gateway, name, ATTACKER).get("status") or {}).get("listeners") or [{"conditions": []}]
    return next((dict(one) for one in found[0]["conditions"] if one["type"] == "ResolvedRefs"), {})
