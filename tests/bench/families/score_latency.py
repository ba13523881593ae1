"""How long it takes from a publication until a user sees it, at rest: the harness itself plays the runtime."""

from __future__ import annotations

import asyncio
import time

import msgspec

from seamark.api.score import Workload, WorkloadExposure
from seamark_runtime.errors import SeamarkError
from tests.bench.bare import make_all
from tests.bench.scenario import Sort, Write
from tests.bench.setting import Setting

BY_HAND = "by-hand-"  # the fake runtime leaves exposures of such names alone
COUNT = 50
LOOK = 0.002  # seconds between two looks
PATIENCE = 60.0
MERGE = "application/merge-patch+json"
_WORKLOAD = msgspec.json.Decoder(Workload)


async def publications(where: Setting) -> list[float]:
    """Seconds from the answer to a publication until the Workload shows it, one after the other."""
    names = [f"{BY_HAND}{number}" for number in range(COUNT)]
    async with where.operator() as running:
        await running.quiet()
        await make_all(where.bare, where.scenario, where.namespace, names, Sort.PLAIN)
        deadline = time.monotonic() + PATIENCE
        while len(await where.bare.all(WorkloadExposure, where.namespace)) < COUNT:
            _in_time(deadline, "exposures")
            await asyncio.sleep(0.1)
        await running.quiet()
        found = [await _publication(where, name) for name in names]
    await where.clear()
    return found


async def _publication(where: Setting, name: str) -> float:
    url = f"https://{name}.example.com"
    path = WorkloadExposure.RESOURCE.path(where.namespace, name, "status")
    body = {"status": {"exposures": [{"url": url}], "observedWorkloadGeneration": 1}}
    await where.bare.write(Write("PATCH", path, body, MERGE))
    began = time.monotonic()
    while not await _shows(where, name, url):
        _in_time(began + PATIENCE, f"the endpoint of {name}")
        await asyncio.sleep(LOOK)
    return time.monotonic() - began


async def _shows(where: Setting, name: str, url: str) -> bool:
    workload = _WORKLOAD.decode(await where.bare.get(Workload.RESOURCE.path(where.namespace, name)))
    return workload.status is not None and workload.status.endpoint == url


def _in_time(deadline: float, what: str) -> None:
    if time.monotonic() > deadline:
        raise SeamarkError(f"{what} did not come within {PATIENCE:.0f} s")
