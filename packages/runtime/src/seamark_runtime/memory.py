"""What a controller remembers between reconciles: declared, and changed by the runtime alone.

- The runtime calls `advance` once per reconcile, before `observe`. It takes in what has changed since the last one;
  called again on the same facts it changes nothing.
- `observe`, `desire`, `judge` and `report` read a memory and never change it.
- `forget` is called when there is nothing to be done for a key any more.
- A memory with `acknowledge` (`Acknowledging`) is also called at the end of a reconcile: after the status was written,
  or the entries were published, and after the notices were sent. A reconcile that has failed before that is not
  acknowledged, so that what is still to be published is not lost. Called again with the same values it changes nothing.
- A result that follows from its arguments alone may be kept without a declaration (a `cached_property` of a frozen
  value, `Index` functions that parse a spec once), bounded, by code that decides nothing: without it nothing differs.
- A memory is lost with the process: what must survive a restart is in Kubernetes or at the remote party.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.view import View

V = TypeVar("V")


class Memory(Protocol):
    def advance(self, view: View, subject: Any, results: Results) -> None:
        """`subject`: the object of a `Controller`, the key of a `CollectionController`."""
        ...

    def forget(self, key: Key) -> None: ...


@runtime_checkable
class Acknowledging(Memory, Protocol):
    def acknowledge(self, seen: Any, answers: Answers) -> None:
        """`seen` and `answers`: what the outcome was judged from."""
        ...


def acknowledge(memory: Memory | None, seen: Any, answers: Answers) -> None:
    if isinstance(memory, Acknowledging):
        memory.acknowledge(seen, answers)


class Remembered(Generic[V]):
    """One immutable value per key, replaced by a pure transition function; None is not kept.

    The transition is given the value so far (None at first), and what `observe` is given.
    """

    def __init__(self, transition: Callable[[V | None, View, Any, Results], V | None]) -> None:
        self._transition = transition
        self._values: dict[Key, V] = {}

    def get(self, key: Key) -> V | None:
        return self._values.get(key)

    def advance(self, view: View, subject: Any, results: Results) -> None:
        key: Key = subject.key if isinstance(subject, Object) else subject
        value = self._transition(self._values.get(key), view, subject, results)
        if value is None:
            self.forget(key)
        else:
            self._values[key] = value

    def forget(self, key: Key) -> None:
        self._values.pop(key, None)
