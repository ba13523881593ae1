"""The sample family, ready to run."""

from __future__ import annotations

from seamark.api.sample import Greeting
from seamark.families.sample.greeting.controller import controllers as greetings
from seamark.families.sample.greeting.state import CONDITIONS
from seamark.families.sample.model.dependencies import Dependencies
from seamark.families.sample.model.options import Options
from seamark.families.sample.remote import Remote
from seamark.providers.board.memory import MemoryBoard
from seamark.providers.board.protocol import Board
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.controller import Declaration
from seamark_runtime.family import Family

GREETING = CRD(
    kind=Greeting,
    short_names=("gr",),
    categories=("seamark",),
    columns=(
        Column("Text", ".spec.text"),
        Column("Board", ".spec.board", priority=1),
        Column.condition("Published"),
        Column.condition("Ready"),
        Column.condition("Ready", field="reason", column="Reason", priority=1),
        Column.condition("Ready", field="message", column="Message", priority=1),
    ),
    conditions=CONDITIONS,
)


def controllers(options: Options, provider: Board) -> tuple[Declaration, ...]:
    dependencies = Dependencies(options, Remote(provider).perform)
    return greetings(dependencies)


SAMPLE = Family(
    name="sample",
    summary="Greeting: a text in a ConfigMap and on a board",
    crds=(GREETING,),
    controllers=lambda: controllers(Options(), MemoryBoard()),
)
