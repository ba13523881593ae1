"""The sample family, ready to run."""

from __future__ import annotations

from seamark.api.sample import Greeting
from seamark.families.sample.board import MemoryBoard
from seamark.families.sample.controller import controller
from seamark.families.sample.state import CONDITIONS
from seamark_runtime.api.crd import CRD, Column
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
        Column.condition("Ready", says="reason", column="Reason", priority=1),
        Column.condition("Ready", says="message", column="Message", priority=1),
    ),
    conditions=CONDITIONS,
)

SAMPLE = Family(
    name="sample",
    summary="Greeting: a text in a ConfigMap and on a board",
    crds=(GREETING,),
    controllers=lambda: (controller(MemoryBoard()),),
)
