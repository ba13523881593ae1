"""Another live controller with our name: two of them would overwrite each other without end.

- A name is a controllerName, a class, an owner id: by default it is another product's, which may be installed, too.
- It is recognised by what an editor of an object can't forge: what we own in a status, as the API server acknowledged
  it, was changed although we did not write again. `managedFields` are not looked at: an editor may write them.
- That has to happen `UNDONE` times: what a person changes by hand once is put right.
- The consequence is for that one object: no children, no calls, no status for `PAUSE` seconds, and an event. Then it is
  reconciled again, and left alone again if the next write is undone as well. No object stops another one.
- A family may see the same outside of Kubernetes (`seen_outside`): that is for one key of its collection, and for the
  objects that belong to it.
- What is being deleted is still released.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.events import Notice
from seamark_runtime.source import Facts, Fresh
from seamark_runtime.status import StatusMode
from seamark_runtime.view import View
from seamark_runtime.watch import number

PAUSE = 600.0  # seconds for which an object is left alone
UNDONE = 3  # writes that were undone; a person may try something once or twice
SEEN = 2  # times at which something was seen outside
TAKEN = "ControllerNameTaken"

Belongs = Mapping[type[Object], Callable[[Any], Iterable[Key]]]
Token = tuple[str, Key]  # (controller, object)


@dataclass(frozen=True, slots=True)
class _Written:
    """Our last acknowledged write of a status."""

    uid: str
    version: int
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class _Undone:
    times: int
    last: float


@dataclass
class CompetingControllers:
    """Who else uses `name`, which is a `what`. `belongs` tells the keys of a collection that an object belongs to."""

    what: str
    name: str
    belongs: Belongs = field(default_factory=dict)
    facts: Facts[Hashable, str] = field(default_factory=lambda: Facts("competing controllers"))  # where, by what
    _written: dict[Token, _Written] = field(default_factory=dict)
    _undone: dict[Token, _Undone] = field(default_factory=dict)  # of objects; forgotten two pauses after the last
    _seen: dict[Key, int] = field(default_factory=dict)  # how often something was seen outside, by collection key

    # ---- an object

    def wrote(self, token: Token, mode: StatusMode, obj: Object) -> None:
        """The API server has acknowledged our write of the status: this is the object after it."""
        version = number(obj.metadata.resource_version)
        self._written[token] = _Written(obj.uid, version, mode.fingerprint(obj))

    def unsure(self, token: Token) -> None:
        """A write of ours may have taken effect: what stands now may be ours, whatever it is."""
        self._written.pop(token, None)

    def contested(self, view: View, token: Token, mode: StatusMode, obj: Object) -> str:
        """Where another controller undoes what we write, if it does; looks at the object for that."""
        if self._is_undone(token, mode, obj):
            before = self._undone.get(token, _Undone(0, view.now))
            times = 1 if view.now - before.last > 2 * PAUSE else before.times + 1
            self._undone[token] = _Undone(times, view.now)
            if times >= UNDONE:
                self.facts.put(token, "in the status of this object", view.now + PAUSE)
        keys = self.belongs.get(type(obj), _nowhere)(obj)
        return next((where for key in (token, *keys) if (where := self.left_alone(view, key))), "")

    def forget(self, token: Token) -> None:
        self._written.pop(token, None)
        self._undone.pop(token, None)
        self.facts.remove(token)

    def restart(self) -> None:
        """A term of leadership begins: another process of ours may have written meanwhile."""
        self._written.clear()

    def _is_undone(self, token: Token, mode: StatusMode, obj: Object) -> bool:
        last = self._written.get(token)
        if last is None:
            return False
        version = number(obj.metadata.resource_version)
        if obj.uid == last.uid and version == last.version:
            return False
        if obj.uid != last.uid or version < last.version:  # a namesake, or a cluster that was restored to its past
            del self._written[token]
            return False
        if mode.fingerprint(obj) == last.fingerprint:
            return False
        del self._written[token]  # counted once, until we write again
        return True

    # ---- a collection

    def seen_outside(self, view: View, key: Key, where: str, times: int) -> None:
        """So often has something come up there that only a controller of this name makes, and we did not."""
        if times > self._seen.get(key, 0):
            self._seen[key] = times
            if times >= SEEN:
                self.facts.put(key, where, view.now + PAUSE)

    def left_alone(self, view: View, key: Hashable) -> str:
        fact = view.fact(self.facts, key)
        return fact.value if isinstance(fact, Fresh) else ""

    def notice(self, where: str) -> Notice:
        what = f"Another controller undoes what Seamark writes {where}, and may use the {self.what} {self.name}, too"
        return Notice(TAKEN, f"{what}. Stop one of them: Seamark changes nothing here and tries again every 10 minutes")


def _nowhere(_obj: Object) -> Iterable[Key]:
    return ()
