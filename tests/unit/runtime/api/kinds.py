"""Small kinds that between them use everything a schema can say."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from msgspec import Meta

from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.api.meta import Condition, Object, Resource, Wire
from seamark_runtime.api.schema import ATOMIC, SET, Rule, checked, map_by


class Aspect(NamedTuple):
    """A condition as the runtime declares it, as far as a CRD cares."""

    name: str
    awaiting: str = "Pending"
    first_message: str = "Waiting for the controller"


FOR_LIFE = Rule(rule="self == oldSelf", message="owner is for life")


class Port(Wire, frozen=True, kw_only=True):
    """Where a lamp listens."""

    name: Annotated[str, Meta(min_length=1, max_length=15)]
    number: Annotated[int, Meta(ge=1, le=65535, description="A TCP port.")]
    target: int | str | None = None


class Limits(Wire, frozen=True, kw_only=True):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(rule="self.low <= self.high", message="low must not be above high", field_path=".low"),
    )

    low: int = 1
    high: int = 10
    share: Annotated[float, Meta(gt=0, le=1)] | None = None


class LampSpec(Wire, frozen=True, kw_only=True):
    """What a lamp should do."""

    color: Literal["red", "green", "white"]
    ports: Annotated[tuple[Port, ...], map_by("name"), Meta(max_length=8)] = ()
    tags: Annotated[tuple[str, ...], SET] = ()
    steps: Annotated[tuple[str, ...], ATOMIC] = ()
    limits: Limits = Limits()
    enabled: bool = True
    dimmed: bool = False
    note: Annotated[str, Meta(description="Anything.", max_length=20)] = ""
    names: dict[str, str] | None = None
    config: dict[str, Any] | None = None
    anything: Any = None
    owner: Annotated[str, checked(Rule(rule="self == oldSelf", message="owner is for life")), Meta(max_length=20)] = (
        "me"
    )
    parent: str | None
    """Must be said, if only as null."""


class LampStatus(Wire, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    address: str = ""


class Lamp(Object, frozen=True, kw_only=True):
    """A lamp that shows the way."""

    RESOURCE = Resource("test.seamark.dev", "v1alpha1", "Lamp", "lamps")

    spec: LampSpec
    status: LampStatus = LampStatus()


class Harbour(Object, frozen=True, kw_only=True):
    """Nothing but a place; of the whole cluster."""

    RESOURCE = Resource("test.seamark.dev", "v1", "Harbour", "harbours", namespaced=False)

    data: dict[str, str] | None = None


LAMP = CRD(
    kind=Lamp,
    short_names=("lp",),
    categories=("seamark",),
    columns=(
        Column("Color", ".spec.color"),
        Column.condition("Ready"),
        Column.condition("Ready", field="reason", column="Reason", priority=1),
    ),
    rules=(Rule(rule="self.metadata.name.size() <= 20", message="the name must not be longer than 20"),),
    conditions=(Aspect("Lit", "NotLit", "Not yet lit"), Aspect("Ready")),
    selectable=(".spec.color",),
    labels={"app.kubernetes.io/part-of": "seamark"},
)
HARBOUR = CRD(kind=Harbour)
