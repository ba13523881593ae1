"""The first warning about an object: held back for a moment, and dropped if the object recovers meanwhile.

- An object that is merely new fails for a moment, until what it needs is there: that is no event.
- Only the first is held, whether it was reported or dropped: an object that keeps failing is reported at once.
- What is held is the latest condition. A process that ends reports nothing more: the condition itself is in the status.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from seamark_runtime.api.meta import Condition, Key, Object, Resource

HOLD = 15.0  # seconds


@dataclass(slots=True)
class _Held:
    obj: Object
    condition: Condition
    timer: asyncio.TimerHandle


class HeldWarnings:
    """Calls `report` for what was held long enough. At most `limit` objects are known."""

    def __init__(self, report: Callable[[Object, Condition], None], limit: int) -> None:
        self._report = report
        self._limit = limit
        self._held: dict[str, _Held] = {}  # by uid; every one of them is in `_known`, or was
        self._known: OrderedDict[str, None] = OrderedDict()  # uids of objects whose first warning was held

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, obj: Object, condition: Condition) -> bool:
        """Whether it is held: it is the first about this object."""
        if obj.uid in self._held:
            self.update(obj, condition)
            return True
        if obj.uid in self._known:
            return False
        self._known[obj.uid] = None
        while len(self._known) > self._limit:
            self._known.popitem(last=False)
        timer = asyncio.get_running_loop().call_later(HOLD, self._release, obj.uid)
        self._held[obj.uid] = _Held(obj, condition, timer)
        return True

    def update(self, obj: Object, condition: Condition) -> None:
        """Its condition has another reason or message now."""
        if (held := self._held.get(obj.uid)) is not None:
            held.condition = condition

    def drop(self, uid: str) -> bool:
        """It has recovered. Whether a warning was held."""
        held = self._held.pop(uid, None)
        if held is not None:
            held.timer.cancel()
        return held is not None

    def gone(self, resource: Resource, key: Key) -> None:
        """The object is deleted."""
        for uid in [uid for uid, held in self._held.items() if resource == held.obj.RESOURCE and held.obj.key == key]:
            self.drop(uid)

    def close(self) -> None:
        for uid in list(self._held):
            self.drop(uid)

    def _release(self, uid: str) -> None:
        held = self._held.pop(uid)
        self._report(held.obj, held.condition)
