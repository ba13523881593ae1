"""The wiring of the sample kind."""

from __future__ import annotations

from seamark.api.sample import Greeting
from seamark.families.sample.board import Board
from seamark.families.sample.reconcile import POSTED_ON, desire, judge
from seamark.families.sample.state import CONDITIONS, FINALIZER, Post, Retract, Seen
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def controller(board: Board, *, shelf_life: float = 60.0, verify_every: float = 20.0) -> Controller[Seen]:
    def observe(_view: View, greeting: Greeting, results: Results) -> Seen:
        return Seen(greeting, results, shelf_life, verify_every)

    async def perform(action: Post | Retract) -> None:
        match action:
            case Post(board=name, owner=owner, text=text):
                await board.post(name, owner, text)
            case Retract(board=name, owner=owner):
                await board.retract(name, owner)

    return Controller(
        name="greetings",
        kind=Greeting,
        observe=observe,
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-greetings", conditions=CONDITIONS, fields=("config_map_ref",)),
        children=(ConfigMap,),
        finalizer=FINALIZER,
        annotations=(POSTED_ON,),
        perform=perform,
        shelf_life=shelf_life,
    )
