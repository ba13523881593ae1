"""The values of a WorkloadPlan as this runtime reads them. The API has them as any JSON: each runtime has its own.

`read` is the boundary: behind it everything has its type and can be rendered; what does not fit is `Unfit`, with the
field. Fields that are not known here are passed over, as everywhere in the API.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from seamark.api.score import Before, Compute, Container, Probe, ServicePort, WorkloadPlan
from seamark.families.score.model.order import fault as order_fault
from seamark.families.score.model.quantity import InvalidQuantity
from seamark.families.score.model.quantity import check as check_quantity
from seamark_runtime.api.meta import Wire
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

T = TypeVar("T")
Mode = Annotated[str, Meta(pattern="^0?[0-7]{3}$")]


class Unfit(ValueError):
    """Which field of a plan's values this runtime can't read, and why."""


class SecretPart(Wire, frozen=True, kw_only=True):
    """A value that stays in its Secret."""

    secret: str
    key: str


class PlanFile(Wire, frozen=True, kw_only=True):
    """A file of a container: a text, bytes, or a key of a Secret."""

    target: str
    mode: Mode | None = None
    content: str | None = None
    binary_content: str | None = None
    secret: str = ""
    key: str = ""


class PlanMount(Wire, frozen=True, kw_only=True):
    """Where a volume is in a container; `source` is the volume's key. `claim` is one that the plan does not render."""

    target: str
    source: str
    claim: str = ""
    path: str = ""
    read_only: bool = False


class PlanContainer(Wire, frozen=True, kw_only=True):
    image: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    variables: dict[str, tuple[str | SecretPart, ...]] = msgspec.field(default_factory=dict)
    files: tuple[PlanFile, ...] = ()
    volumes: tuple[PlanMount, ...] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    resources: Compute | None = None
    before: dict[str, Before] = msgspec.field(default_factory=dict)  # the containers that wait for this one

    @property
    def contents(self) -> tuple[PlanFile, ...]:
        """The files that are not in a Secret."""
        return tuple(file for file in self.files if not file.secret)


class PlanVolume(Wire, frozen=True, kw_only=True):
    """What a claim of the type volume gave."""

    key: str
    source: str
    size: str
    deprovision_policy: Literal["Delete", "Retain", "Orphan"] = "Delete"
    shared: Annotated[str, Meta(pattern="^([0-9a-f]{1,63})?$")] = ""  # plans with the same digest have the same volume


class PlanRoute(Wire, frozen=True, kw_only=True):
    """What a claim of the type route gave."""

    key: str
    host: str
    port: str | int
    path: str = ""


class PlanValues(Wire, frozen=True, kw_only=True):
    kind: Literal["Deployment", "StatefulSet"] = "Deployment"
    containers: dict[str, PlanContainer] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)  # of Pods and Service
    service_name: str = ""  # of the Service, where it is not the plan's name
    ports: tuple[ServicePort, ...] = ()
    routes: tuple[PlanRoute, ...] = ()
    volumes: tuple[PlanVolume, ...] = ()

    @property
    def stateful(self) -> bool:
        return self.kind == "StatefulSet"


NOTHING = PlanValues()


def binary(file: PlanFile) -> bytes:
    return base64.b64decode(file.binary_content or "", validate=True)


def port_number(route: PlanRoute) -> int:
    return integer(str(route.port), 1, 65535)


def read(plan: WorkloadPlan) -> PlanValues | Unfit:
    try:
        return _read(plan)
    except Unfit as unfit:
        return unfit


def _read(plan: WorkloadPlan) -> PlanValues:
    try:
        values = msgspec.convert(plan.spec.resolved_values or {}, PlanValues)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        raise Unfit(f"spec.resolvedValues{where.rstrip('`')}: {message}") from None
    if wrong := order_fault({name: _ordered(container) for name, container in values.containers.items()}):
        raise Unfit(f"spec.resolvedValues.{wrong}")
    for name, container in sorted(values.containers.items()):
        _check_container(container, f"spec.resolvedValues.containers.{name[:63]}")
    for number, route in enumerate(values.routes):
        _check(port_number, route, f"spec.resolvedValues.routes[{number}].port")
    for number, volume in enumerate(values.volumes):
        _check(check_quantity, volume.size, f"spec.resolvedValues.volumes[{number}].size")
    return values


def _ordered(planned: PlanContainer) -> Container:
    """As much of it as its order depends on."""
    return Container(
        image=planned.image,
        before=planned.before or None,
        readiness_probe=planned.readiness_probe,
        liveness_probe=planned.liveness_probe,
    )


def _check_container(container: PlanContainer, where: str) -> None:
    compute = container.resources or Compute()
    for kind, amounts in (("limits", compute.limits), ("requests", compute.requests)):
        for what, amount in sorted((amounts or {}).items()):
            _check(check_quantity, amount, f"{where}.resources.{kind}.{what[:63]}")
    for number, file in enumerate(container.files):
        if sum((bool(file.secret), file.content is not None, file.binary_content is not None)) != 1:
            raise Unfit(f"{where}.files[{number}]: it needs exactly one of content, binaryContent and secret")
        _check(binary, file, f"{where}.files[{number}].binaryContent")
    for name, probe in (("livenessProbe", container.liveness_probe), ("readinessProbe", container.readiness_probe)):
        if probe is not None and probe.exec is None and probe.http_get is None:
            raise Unfit(f"{where}.{name}: it needs httpGet or exec")


def _check(understand: Callable[[T], object], value: T, where: str) -> None:
    try:
        understand(value)
    except binascii.Error:
        raise Unfit(f"{where}: it is no base64") from None
    except (InvalidNumber, InvalidQuantity) as error:
        raise Unfit(f"{where}: {error}") from None
