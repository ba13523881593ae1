"""The bindings family, ready to run."""

from __future__ import annotations

from seamark.families.bindings.bindinggroup.controller import controllers as binding_groups
from seamark.families.bindings.boundendpoint.controller import controllers as bound_endpoints
from seamark.families.bindings.boundendpoint.state import CONDITIONS as BOUND_ENDPOINT_CONDITIONS
from seamark.families.bindings.kubernetesoperator.controller import controllers as kubernetes_operators
from seamark.families.bindings.kubernetesoperator.state import CONDITIONS as KUBERNETES_OPERATOR_CONDITIONS
from seamark.families.bindings.model.certificates import Certificates, EcCertificates
from seamark.families.bindings.model.dependencies import Dependencies, EdgeFacts
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.verifications import Verifications
from seamark.families.bindings.poll.controller import controllers as polls
from seamark.families.bindings.projection.controller import controllers as projections
from seamark.families.bindings.remote import Dial, EdgeRequests, Prober, Remote
from seamark.families.bindings.settings import edge_of, loaded, options_of
from seamark.families.bindings.sweep.controller import controllers as sweep
from seamark.providers.edge.memory import memory_edge
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Declaration, guarded
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
        Column.condition("Ready", field="reason", column="Reason", priority=1),
        Column.condition("Ready", field="message", column="Message", priority=1),
    ),
    conditions=BOUND_ENDPOINT_CONDITIONS,
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
        Column.condition("Ready", field="reason", column="Reason", priority=1),
        Column.condition("Ready", field="message", column="Message", priority=1),
    ),
    conditions=KUBERNETES_OPERATOR_CONDITIONS,
)
CRDS = (BOUND_ENDPOINT, KUBERNETES_OPERATOR)


def controllers(
    options: Options,
    provider: EdgeProvider,
    *,
    clock: Clock | None = None,
    certificates: Certificates | None = None,
    dial: Dial | None = None,
) -> tuple[Declaration, ...]:
    """`dial` connects to an address and a port; in tests it can be a fake."""
    clock, certificates = clock or SystemClock(), certificates or EcCertificates()
    facts, verifications = EdgeFacts(), Verifications()
    prober = Prober(clock, options.probe_limit, verifications, dial)
    remote = Remote(EdgeRequests(provider, certificates, facts), prober)
    reachable = provider.capabilities.reachable
    dependencies = Dependencies(options, remote.perform, certificates, facts, verifications, reachable)
    return guarded(
        CompetingControllers("KubernetesOperator", str(options.key)),
        *binding_groups(dependencies),
        *bound_endpoints(dependencies),
        *polls(dependencies),
        *projections(dependencies),
        *kubernetes_operators(dependencies),
        *sweep(dependencies),
    )


def configured() -> tuple[Declaration, ...]:
    settings = loaded()
    provider = edge_of(settings) if settings.bindings_edge else memory_edge()  # for what is declared alone
    return controllers(options_of(settings), provider)


def require() -> None:
    """An edge must be chosen: there is no default."""
    edge_of(loaded())


BINDINGS = Family(
    name="bindings",
    summary="BoundEndpoint: endpoints at an edge as Services in the cluster; KubernetesOperator: the installation",
    crds=CRDS,
    controllers=configured,
    require=require,
)
