"""The gateway family, ready to run."""

from __future__ import annotations

from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway.bundle import definitions
from seamark.families.gateway.controllers import controllers
from seamark.families.gateway.settings import loaded, options_of, plane_of
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.controller import Declaration
from seamark_runtime.family import Family

TRAFFIC_POLICY = CRD(
    kind=TrafficPolicy,
    categories=("seamark",),
    columns=(
        Column("Accepted", '.status.ancestors[*].conditions[?(@.type=="Accepted")].status'),
        Column("Attached", '.status.ancestors[*].conditions[?(@.type=="Attached")].reason', priority=1),
    ),
)


def configured() -> tuple[Declaration, ...]:
    settings = loaded()
    return controllers(plane_of(settings), options_of(settings))


GATEWAY = Family(
    name="gateway",
    summary="Gateway API: routes with status that is never stale, served by Envoy",
    crds=(TRAFFIC_POLICY,),
    controllers=configured,
    published=definitions,
)
