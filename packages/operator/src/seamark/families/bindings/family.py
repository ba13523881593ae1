"""The bindings family, ready to run."""

from __future__ import annotations

from seamark.families.bindings import installation
from seamark.families.bindings.controller import Means, controllers
from seamark.families.bindings.settings import edge_of, loaded, settings_of
from seamark.families.bindings.state import CONDITIONS
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.controller import Declaration
from seamark_runtime.family import Family

BOUND_ENDPOINT = CRD(
    kind=BoundEndpoint,
    categories=("seamark", "networking", "ngrok"),
    columns=(
        Column("URL", ".spec.endpointURL", priority=1),
        Column("Port", ".spec.port", "integer", priority=1),
        Column("Endpoints", ".status.endpointsSummary"),
        Column.condition("ServicesCreated", column="Services"),
        Column.condition("Ready"),
        Column.condition("Ready", says="reason", column="Reason", priority=1),
        Column.condition("Ready", says="message", column="Message", priority=1),
    ),
    conditions=CONDITIONS,
)
KUBERNETES_OPERATOR = CRD(
    kind=KubernetesOperator,
    categories=("seamark", "networking", "ngrok"),
    columns=(
        Column("ID", ".status.id"),
        Column("Features", ".status.enabledFeatures"),
        Column("Ingress", ".status.bindingsIngressEndpoint", priority=1),
        Column.condition("Registered"),
        Column.condition("Ready"),
        Column.condition("Draining", priority=1),
        Column.condition("Ready", says="reason", column="Reason", priority=1),
        Column.condition("Ready", says="message", column="Message", priority=1),
    ),
    conditions=installation.CONDITIONS,
)
CRDS = (BOUND_ENDPOINT, KUBERNETES_OPERATOR)


def configured() -> tuple[Declaration, ...]:
    given = loaded()
    return controllers(settings_of(given), Means(edge_of(given)))


BINDINGS = Family(
    name="bindings",
    summary="BoundEndpoint: endpoints at an edge as Services in the cluster; KubernetesOperator: the installation",
    crds=CRDS,
    controllers=configured,
)
