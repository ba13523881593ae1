"""Another live controller under a name of ours: two that answer to one name would overwrite each other for ever.

- A name is a controllerName, a class, an owner id: by default it is another product's, which may be installed, too.
- Whoever writes the status of an object of ours again and again, while we run, is a rival. What was written before we
  came is a predecessor's, and what a person writes once is no controller's.
- While a rival speaks we make no child, call nobody, and write no status; an event on each object says so, and
  `seamark status` shows it. After a while without a word of the rival's we go on.
- What is being deleted is still let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seamark.api.meta import Key, ManagedFields, ManagedMeta, Object
from seamark.core.events import Notice
from seamark.core.source import Facts, Fresh
from seamark.core.view import View

PEOPLE = ("kubectl", "seamark")  # managers that begin so are no other controller's
SILENCE = 600.0  # seconds after a rival's last word
WRITES = 2  # a person may try something once
TAKEN = "ControllerNameTaken"

Times = Mapping[str, str]  # manager → when it last wrote the status
NOBODY: Times = {}


@dataclass
class Rivals:
    """Who else answers to `name`, which is a `what`. `ours` are further field managers of the same family."""

    what: str
    name: str
    ours: tuple[str, ...] = ()
    facts: Facts[str, str] = field(default_factory=lambda: Facts("rivals"))
    _known: dict[tuple[type[Object], Key], Times] = field(default_factory=dict)
    _last: dict[str, str] = field(default_factory=dict)  # when each last wrote: a past that comes back is no news
    _words: dict[str, int] = field(default_factory=dict)  # how often each has spoken

    def notice(self, view: View, obj: Object) -> str:
        """Looks at an object whose status is ours alone; the rival, if there is one."""
        if isinstance(obj.metadata, ManagedMeta):
            others = {one.manager: one.time for one in self._others(obj.metadata.managed_fields or ())} or NOBODY
            before = self._known.get((type(obj), obj.key), others)
            self._known[(type(obj), obj.key)] = others
            for manager, time in others.items():
                if before.get(manager) != time and time > self._last.get(manager, ""):
                    self.heard(view, manager, self._words.get(manager, 0) + 1)
                self._last[manager] = max(time, self._last.get(manager, ""))
        return self.speaking(view)

    def speaking(self, view: View) -> str:
        fact = view.fact(self.facts, self.name)
        return fact.value if isinstance(fact, Fresh) else ""

    def forget(self, kind: type[Object], key: Key) -> None:
        self._known.pop((kind, key), None)

    def told(self, rival: str) -> Notice:
        who = f"Another controller ({rival}) answers to the {self.what} {self.name}"
        return Notice(TAKEN, f"{who}; nothing is written until it is gone")

    def heard(self, view: View, rival: str, words: int) -> None:
        """So often has somebody spoken in our name, as far as we know."""
        if words > self._words.get(rival, 0):
            self._words[rival] = words
            if words >= WRITES:
                self.facts.put(self.name, rival, view.now + SILENCE)

    def _others(self, entries: Iterable[ManagedFields]) -> Iterable[ManagedFields]:
        known = (*PEOPLE, *self.ours)
        return (one for one in entries if one.subresource == "status" and not one.manager.startswith(known))
