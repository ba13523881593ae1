"""What a watch hands on: the initial set, what changes after it, and its interruptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.errors import SeamarkError
from seamark_runtime.failures import DECODE

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Restarted:
    """A new initial set begins. `silent`: there was no response for long, so what was delivered before is outdated."""

    silent: bool = False


@dataclass(frozen=True, slots=True)
class Put(Generic[T]):
    object: T


@dataclass(frozen=True, slots=True)
class Removed(Generic[T]):
    object: T


@dataclass(frozen=True, slots=True)
class Synced:
    """The initial set is complete, as of this version."""

    version: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Everything up to this version has been handed on."""

    version: str


@dataclass(frozen=True, slots=True)
class Broken:
    """An object that this program can't read or process. What was known of it is no longer true.

    `part`: what can be read of it, by which it is released; only of one that is being deleted.
    """

    key: Key
    uid: str
    version: str
    message: str
    stage: str = DECODE
    part: Object | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Trouble:
    """The watch is interrupted, and will reconnect. `silent`: there was no response for long."""

    error: SeamarkError
    silent: bool = False


Event = Restarted | Put[Any] | Removed[Any] | Synced | Progress | Broken | Trouble
