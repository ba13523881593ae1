"""What the families' floors have in common: all writes by the bare client, and how finalizers are removed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from seamark_runtime.client import MERGE_PATCH
from tests.bench.bare import each, make_and_work
from tests.bench.scenario import Write
from tests.bench.setting import Setting, names
from tests.bench.watcher import watching


async def least(where: Setting, wanted: Sequence[str], patience: float) -> float:
    """Seconds until the bare client has done the user's part and the operator's, object by object."""
    async with watching(where.bare, where.scenario, where.namespace, wanted) as watcher:
        began = time.monotonic()
        await make_and_work(where.bare, where.scenario, where.namespace, wanted)
        return await watcher.until(len(wanted), patience * len(wanted)) - began


async def marked(where: Setting, n: int, patience: float) -> float:
    """The same, for objects that are deleted again, and carry finalizers."""
    seconds = await least(where, names(n), patience)
    await unmark(where, names(n))
    await where.clear()
    return seconds


async def unmark(where: Setting, wanted: Sequence[str]) -> None:
    """No operator runs that would remove the finalizers: so that the objects can be deleted."""

    async def one(name: str) -> None:
        path = where.scenario.watched.RESOURCE.path(where.namespace, name)
        await where.bare.write(Write("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH))

    await each(wanted, one)
