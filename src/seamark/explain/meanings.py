"""What a reason means, from the declarations of whoever gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from seamark.core.controller import Controller
from seamark.core.family import Family


def meanings(families: Iterable[Family]) -> Callable[[str, str, str], str]:
    """(kind, condition, reason) → what it means to a user; empty where it is not ours to say."""
    known: dict[tuple[str, str, str], str] = {}
    for family in families:
        for declared in family.controllers():
            if isinstance(declared, Controller):
                for condition in declared.status.conditions:
                    for reason, meaning in condition.reasons.items():
                        known[(declared.kind.RESOURCE.kind, condition.name, reason)] = meaning
    return lambda kind, condition, reason: known.get((kind, condition, reason), "")
