"""The controller of Greetings: what it reads, writes and calls."""

from __future__ import annotations

from functools import partial

from seamark.api.sample import Greeting
from seamark.families.sample.greeting.reconcile import POSTED_ON, desire, judge
from seamark.families.sample.greeting.state import CONDITIONS, FINALIZER, Seen
from seamark.families.sample.model.dependencies import Dependencies
from seamark.families.sample.model.options import Options
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Timing, Writes
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def observe(options: Options, _view: View, greeting: Greeting, results: Results) -> Seen:
    return Seen(greeting, results, options.shelf_life, options.verify_every)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    options = dependencies.options
    greetings = Controller(
        name="greetings",
        kind=Greeting,
        observe=partial(observe, options),
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-greetings", conditions=CONDITIONS, fields=("config_map_ref",)),
        perform=dependencies.perform,
        writes=Writes(children=(ConfigMap,), finalizers=(FINALIZER,), annotations=(POSTED_ON,)),
        timing=Timing(shelf_life=options.shelf_life),
    )
    return (greetings,)
