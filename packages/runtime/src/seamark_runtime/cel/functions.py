"""What a function of the language is: the Python function, what a call costs, how large its result may be."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Cost(enum.Enum):
    """Steps of a call, before it runs."""

    LINEAR = "every argument is read once"
    PRODUCT = "the first two arguments are compared at every position"
    PATTERN = "the second argument is a regular expression; the function charges the search itself"


class Result(enum.Enum):
    """How large the result is at most, for the estimate."""

    SAME = "as large as the largest argument"
    PIECES = "a list of parts of the first argument"
    JOINED = "a text of all items of the first argument"
    REPLACED = "the first argument with its characters replaced by the third"
    FORMATTED = "a text as long as the language allows"
    FLAT = "a list of the items of the items"


@dataclass(frozen=True, slots=True)
class Function:
    """`metered`: the first argument is the meter, and the function charges what the arguments do not tell.

    `steps` is what a call costs beside its arguments, `per_item` what it costs to read an item of them.
    """

    run: Callable[..., Any]
    cost: Cost = Cost.LINEAR
    result: Result = Result.SAME
    metered: bool = False
    steps: int = 0
    per_item: int = 1


@dataclass(frozen=True)
class Library:
    """Functions by the way they are called: `f(x)`, `x.f()`, and `space.f(x)`, here by `space.f`."""

    plain: Mapping[str, Function] = field(default_factory=dict)
    members: Mapping[str, Function] = field(default_factory=dict)
    namespaced: Mapping[str, Function] = field(default_factory=dict)

    def __or__(self, other: Library) -> Library:
        """Both; `other` decides where both have a function."""
        return Library(
            {**self.plain, **other.plain},
            {**self.members, **other.members},
            {**self.namespaced, **other.namespaced},
        )
