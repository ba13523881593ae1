"""What the Score specification allows in a file, and the first place where a file differs. Pure.

`check` raises `Fault` with the path of the value. Texts are measured before a pattern looks at them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seamark_runtime.untrusted.patterns import Pattern

Rule = Callable[[Any, str], None]

LONGEST_SHOWN = 80  # characters of a value in a message
LONGEST = 253  # characters of a text that a pattern looks at


class Fault(ValueError):
    """A field and what is wrong with it."""


def within(where: str, step: str | int) -> str:
    if isinstance(step, int):
        return f"{where}[{step}]"
    return f"{where}.{step}" if where else step


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def anything(_value: Any, _where: str) -> None:
    """Where the specification leaves the form to others."""


def a_map(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Fault(f"{where or 'the file'}: it must be a map, and is {'missing' if value is None else shown(value)}")
    for name in value:
        if not isinstance(name, str):
            raise Fault(f"{where or 'the file'}: the key {name!r} is no text; put it in quotes")
    return value


def text(value: Any, where: str) -> None:
    if not isinstance(value, str):
        raise Fault(f"{where}: {shown(value)} is no text; put it in quotes")


def filled(value: Any, where: str) -> None:
    text(value, where)
    if not value:
        raise Fault(f"{where}: it is empty")


def flag(value: Any, where: str) -> None:
    if not isinstance(value, bool):
        raise Fault(f"{where}: {shown(value)} is neither true nor false")


def number(least: int, most: int) -> Rule:
    def check(value: Any, where: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Fault(f"{where}: {shown(value)} is no whole number of {least} to {most}")

    return check


def one_of(*allowed: str) -> Rule:
    def check(value: Any, where: str) -> None:
        if value not in allowed:
            raise Fault(f"{where}: {shown(value)} is none of {', '.join(allowed)}")

    return check


def like(pattern: Pattern, form: str, longest: int = LONGEST) -> Rule:
    """A text of a form, which the message describes."""

    def check(value: Any, where: str) -> None:
        text(value, where)
        if len(value) > longest or not pattern.fullmatch(value):
            raise Fault(f"{where}: {shown(value)} must be {form}")

    return check


def fields(known: Mapping[str, Rule], *needed: str, others: Rule | None = None) -> Rule:
    """A map with these keys. Without a rule for others, an unknown one is an error."""

    def check(value: Any, where: str) -> None:
        own = a_map(value, where)
        for name, each in own.items():
            rule = known.get(name, others)
            if rule is None:
                hint = f"unknown field; the known ones are {', '.join(known)}"
                raise Fault(f"{within(where, name)}: {hint}")
            rule(each, within(where, name))
        for name in needed:
            if name not in own:
                raise Fault(f"{within(where, name)}: it is missing")

    return check


def each(rule: Rule, name: Rule = anything, least: int = 0) -> Rule:
    """A map with names of one form."""

    def check(value: Any, where: str) -> None:
        own = a_map(value, where)
        if len(own) < least:
            raise Fault(f"{where}: it is empty; at least {least} is needed")
        for key, entry in own.items():
            name(key, within(where, key))
            rule(entry, within(where, key))

    return check


def listed(rule: Rule) -> Rule:
    def check(value: Any, where: str) -> None:
        if not isinstance(value, list):
            raise Fault(f"{where}: it must be a list, and is {shown(value)}")
        for place, entry in enumerate(value):
            rule(entry, within(where, place))

    return check
