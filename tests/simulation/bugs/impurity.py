"""Decisions that follow from anything but the facts: the right ones for as long as nobody looks twice."""

from __future__ import annotations

from itertools import cycle

from seamark.api.sample import Greeting
from seamark.families.sample.greeting import controller as greetings
from seamark.families.sample.greeting import reconcile
from seamark.families.sample.greeting.state import Seen
from seamark.families.sample.model.options import Options
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.calls import Results
from seamark_runtime.controller import Wanted
from seamark_runtime.view import View
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("stale or unobserved state")


@BUGS.bug("a memory in a default", "what was seen last is kept in the default of a parameter")
def a_memory_in_a_default() -> None:
    original = reconcile.desire

    def desire(seen: Seen, last: list[Seen] = []) -> Wanted:  # noqa: B006  the defect
        last[:] = [seen]
        return original(seen)

    swap(reconcile.desire, desire)


@BUGS.bug("every other read is left out", "what observe reads depends on how often it has run")
def every_other_read_is_left_out() -> None:
    original, reads = greetings.observe, cycle((True, False))

    def observe(options: Options, view: View, greeting: Greeting, results: Results) -> Seen:
        if next(reads):
            view.get(ConfigMap, greeting.key)
        return original(options, view, greeting, results)

    swap(greetings.observe, observe)
