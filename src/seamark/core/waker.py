"""From changes to keys: who has something to do.

- A key is woken by a change of its own object, or of anything that its last pass has read; by nothing else.
- No key before every source that its controller declares has synced; then all of them, once.
- A group's reports are synced when every key of that first round has had its pass.
- An echo of our own status write wakes nobody, if it comes before the next pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from seamark.api.meta import Key, Object
from seamark.core.cache import Change
from seamark.core.controller import Controller, Group, kinds
from seamark.core.queue import Item
from seamark.core.source import SYNCED, Informer, Reports, Source
from seamark.core.view import Dependencies

Declaration = Controller[Any] | Group[Any]


class Waker:
    def __init__(
        self,
        controllers: Iterable[Declaration],
        informers: Mapping[type[Object], Informer[Any]],
        followers: Iterable[Source],
        wake: Callable[[Item], None],
    ) -> None:
        declared = tuple(controllers)
        self.controllers = {controller.name: controller for controller in declared}
        if len(self.controllers) < len(declared):
            names = sorted({one.name for one in declared if sum(other.name == one.name for other in declared) > 1})
            raise ValueError(f"several controllers are called {', '.join(names)}: one would hide the other")
        self.dependencies = Dependencies()
        self._informers = informers
        self._wake = wake
        self._open: set[str] | None = None  # controllers whose sources have all synced; None while stopped
        self._first_round: dict[str, set[Key]] = {}
        self._echoes: dict[Item, str] = {}  # the version of our last status write
        self._belonging: dict[tuple[str, type[Object], Key], tuple[Key, ...]] = {}  # (group, object) → the group's keys
        self._members: Counter[Item] = Counter()  # how many objects belong to a group's key
        groups = [one for one in self.controllers.values() if isinstance(one, Group)]
        told = dict.fromkeys(reports for group in groups for reports in group.subjects)
        self._about = {reports: [group.name for group in groups if reports in group.subjects] for reports in told}
        sources = dict.fromkeys(source for one in self.controllers.values() for source in self._sources(one))
        for source in (*sources, *followers):
            source.subscribe(self._touched)
            if isinstance(source, Informer):
                source.on_change(self._changed)

    def start(self) -> None:
        self._open = set()
        self._open_what_can()

    def stop(self) -> None:
        self._open = None

    @property
    def all_open(self) -> bool:
        return self._open is not None and len(self._open) == len(self.controllers)

    def missing(self) -> dict[str, list[str]]:
        """Per controller that can't start yet: the sources that have not synced."""
        closed = [c for c in self.controllers.values() if c.name not in (self._open or ())]
        return {c.name: [source.name for source in self._sources(c) if not source.synced] for c in closed}

    def wake(self, item: Item) -> None:
        if self._open is not None and item.kind in self._open:
            self._wake(item)

    def echo(self, item: Item, version: str) -> None:
        """This version is our own status write."""
        self._echoes[item] = version

    def begins(self, item: Item) -> None:
        """A pass begins. If it has not seen our last write, that write's coming is news and no echo."""
        self._echoes.pop(item, None)

    def passed(self, item: Item) -> None:
        """The key has had a pass to its end."""
        controller = self.controllers[item.kind]
        if isinstance(controller, Group):
            self._first_round_done(controller, item.key)

    def alive(self, item: Item, group: Group[Any]) -> bool:
        """Whether a group's key is more than a memory: objects belong to it, it is always there, or is spoken of."""
        spoken_of = any(reports.about(item.key) for reports in group.subjects)
        return item in self._members or item.key in group.always or spoken_of

    def forget(self, item: Item) -> None:
        self.dependencies.forget(item)
        self._echoes.pop(item, None)

    def _sources(self, controller: Declaration) -> list[Source]:
        subjects = controller.subjects if isinstance(controller, Group) else ()
        rivals = (controller.rivals.facts,) if controller.rivals is not None else ()
        return [*(self._informers[kind] for kind in kinds(controller)), *controller.sources, *subjects, *rivals]

    def _changed(self, informer: Informer[Any], change: Change[Any]) -> None:
        for controller in self.controllers.values():
            if isinstance(controller, Controller):
                item = Item(controller.name, change.key)
                if controller.kind is informer.kind and not self._is_echo(item, change):
                    self.wake(item)
            elif change.of_intent and (keyed := controller.keyed.get(informer.kind)):
                after = tuple(dict.fromkeys(keyed(change.after))) if change.after is not None else ()
                before = self._belongs((controller.name, informer.kind, change.key), after)
                for key in dict.fromkeys((*before, *after)):
                    self.wake(Item(controller.name, key))

    def _belongs(self, member: tuple[str, type[Object], Key], keys: tuple[Key, ...]) -> tuple[Key, ...]:
        """An object belongs to these keys of a group from now on; to which it has belonged."""
        before = self._belonging.pop(member, ())
        if keys:
            self._belonging[member] = keys
        self._members.update(Item(member[0], key) for key in keys)
        for key in before:
            item = Item(member[0], key)
            self._members[item] -= 1
            if not self._members[item]:
                del self._members[item]
        return before

    def _is_echo(self, item: Item, change: Change[Any]) -> bool:
        return change.after is not None and change.after.metadata.resource_version == self._echoes.get(item)

    def _touched(self, source: Source, token: Hashable) -> None:
        if token is SYNCED:
            self._open_what_can()
            return
        for item in self.dependencies.readers(source, token):
            if not self._is_own_object(item, source, token):
                self.wake(item)
        if isinstance(token, Key) and isinstance(source, Reports):
            for name in self._about.get(source, ()):
                self.wake(Item(name, token))

    def _is_own_object(self, item: Item, source: Source, token: Hashable) -> bool:
        """Changes of the key's own object come by `_changed`, which knows an echo."""
        controller = self.controllers[item.kind]
        if not isinstance(controller, Controller) or not isinstance(source, Informer):
            return False
        return token == item.key and source.kind is controller.kind

    def _open_what_can(self) -> None:
        if self._open is None:
            return
        for controller in self.controllers.values():
            if controller.name not in self._open and all(source.synced for source in self._sources(controller)):
                self._open.add(controller.name)
                self._start_keys(controller)

    def _start_keys(self, controller: Declaration) -> None:
        keys: dict[Key, None] = {}
        keyed = {controller.kind: _itself} if isinstance(controller, Controller) else controller.keyed
        for kind, belongs in keyed.items():
            for obj in self._informers[kind].cache:
                keys.update(dict.fromkeys(belongs(obj)))
        if isinstance(controller, Group):
            keys.update(dict.fromkeys(controller.always))
            told = (subject for reports in controller.subjects for subject in reports.subjects())
            keys.update(dict.fromkeys(subject for subject in told if isinstance(subject, Key)))
            self._first_round[controller.name] = set(keys)
            self._first_round_done(controller, None)
        for key in keys:
            self.wake(Item(controller.name, key))

    def _first_round_done(self, controller: Group[Any], key: Key | None) -> None:
        waiting = self._first_round.get(controller.name)
        if waiting is None:
            return
        if key is not None:
            waiting.discard(key)
        if not waiting:
            del self._first_round[controller.name]
            controller.reports.sync()


def _itself(obj: Object) -> tuple[Key, ...]:
    return (obj.key,)
