"""The Score family in its parts: each can be a program of its own, with an identity and rights of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from seamark.api.score import ResourceClaim, Workload, WorkloadExposure, WorkloadPlan
from seamark.families.score.configuration.controller import controllers as configuration
from seamark.families.score.mirror.controller import controllers as mirror
from seamark.families.score.model import names
from seamark.families.score.model.conditions import CONDITIONS
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.options import Options
from seamark.families.score.model.runtime import RUNTIME_CLASS
from seamark.families.score.orchestrator.controller import controllers as orchestrator
from seamark.families.score.platform.memory import ConfigurationMemory
from seamark.families.score.provisioner.controller import controllers as provisioner
from seamark.families.score.registrar.controller import controllers as registrar
from seamark.families.score.remote import Remote
from seamark.families.score.rendering.controller import controllers as rendering
from seamark.families.score.settings import loaded, options_of, resolver_of
from seamark.families.score.workloadexposure.controller import controllers as workload_exposures
from seamark.families.score.workloadexposure.state import Dial, Lookup, Probe
from seamark.families.score.workloadplan.controller import controllers as workload_plans
from seamark.families.score.workloadplan.state import CONDITIONS as PLAN_CONDITIONS
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Declaration, guarded
from seamark_runtime.family import Family
from seamark_runtime.resolver import Resolver
from seamark_runtime.source import Collection

WORKLOAD = CRD(
    kind=Workload,
    short_names=("wl",),
    categories=("seamark",),
    columns=(
        Column.condition("Ready"),
        Column("Endpoint", ".status.endpoint"),
        Column("Claims", ".status.claims[*].phase"),
        Column.condition("Ready", field="reason", column="Reason", priority=1),
        Column.condition("Ready", field="message", column="Message", priority=1),
    ),
    conditions=CONDITIONS,
)
RESOURCE_CLAIM = CRD(
    kind=ResourceClaim,
    short_names=("wclaim",),  # kubectl knows rc and resourceclaims as kinds of its own
    columns=(
        Column("Phase", ".status.phase"),
        Column("Type", ".spec.type"),
        Column("Workload", ".spec.workloadRef.name"),
        Column("Outputs", ".status.outputsAvailable", "boolean"),
        Column("Message", ".status.message", priority=1),
    ),
)
WORKLOAD_PLAN = CRD(
    kind=WorkloadPlan,
    short_names=("wplan",),
    columns=(
        Column("Generation", ".spec.observedWorkloadGeneration", "integer"),
        Column("Runtime", ".spec.runtimeClass"),
        Column("Workload", ".spec.workloadRef.name"),
        Column.condition("Accepted", field="message", column="Message", priority=1),
    ),
    conditions=PLAN_CONDITIONS,
)
WORKLOAD_EXPOSURE = CRD(
    kind=WorkloadExposure,
    columns=(
        Column("Workload", ".spec.workloadRef.name"),
        Column("Runtime", ".spec.runtimeClass"),
        Column("TopURL", ".status.exposures[0].url"),
        Column.condition("Ready"),
    ),
)
CRDS = (WORKLOAD, RESOURCE_CLAIM, WORKLOAD_PLAN, WORKLOAD_EXPOSURE)

Attempt = Callable[[Probe | Lookup | Dial], Awaitable[bool]]


def controllers(options: Options, provider: Resolver, *, attempt: Attempt | None = None) -> tuple[Declaration, ...]:
    """All parts. `attempt` performs probes and lookups; in tests it can be a fake."""
    dependencies = dependencies_of(options, provider, attempt)
    return tuple(controller for part in PARTS.values() for controller in part(dependencies))


def runtime_controllers(
    options: Options, provider: Resolver, *, attempt: Attempt | None = None
) -> tuple[Declaration, ...]:
    """The Kubernetes runtime alone."""
    return runtime_part(dependencies_of(options, provider, attempt))


def dependencies_of(options: Options, provider: Resolver, attempt: Attempt | None = None) -> Dependencies:
    return Dependencies(
        options=options,
        perform=attempt or Remote(provider).perform,
        configuration=ConfigurationMemory(options.config_key),
        rendered=Collection("rendered plans"),
    )


# ---- the parts


def orchestrator_part(dependencies: Dependencies) -> tuple[Declaration, ...]:
    planning = guarded(competing_for_workloads(), *orchestrator(dependencies))
    return (*configuration(dependencies), *planning, *provisioner(dependencies))


def registrar_part(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return guarded(competing_for_workloads(), *registrar(dependencies))


def mirror_part(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return guarded(competing_for_workloads(), *mirror(dependencies))


def runtime_part(dependencies: Dependencies) -> tuple[Declaration, ...]:
    declared = (*rendering(dependencies), *workload_exposures(dependencies), *workload_plans(dependencies))
    return guarded(CompetingControllers("runtimeClass", RUNTIME_CLASS), *declared)


def competing_for_workloads() -> CompetingControllers:
    """A Workload is left alone while another controller reverts what we write there."""
    return CompetingControllers("kind", str(Workload.RESOURCE))


PARTS = {
    names.ORCHESTRATOR: orchestrator_part,
    names.REGISTRAR: registrar_part,
    names.MIRROR: mirror_part,
    names.RUNTIME: runtime_part,
}


def configured(part: str) -> tuple[Declaration, ...]:
    settings = loaded()
    return PARTS[part](dependencies_of(options_of(settings), resolver_of(settings)))


ORCHESTRATOR = Family(
    name=names.ORCHESTRATOR,
    summary="Workload: its backend is chosen, its resources are claimed, its plan is made",
    crds=CRDS,
    controllers=lambda: configured(names.ORCHESTRATOR),
)
REGISTRAR = Family(
    name=names.REGISTRAR,
    summary="WorkloadExposure: a runtime is asked where a Workload is reached",
    crds=(),
    controllers=lambda: configured(names.REGISTRAR),
)
MIRROR = Family(
    name=names.MIRROR,
    summary="Workload: its endpoint is what its runtime published",
    crds=(),
    controllers=lambda: configured(names.MIRROR),
)
RUNTIME = Family(
    name=names.RUNTIME,
    summary="The Kubernetes runtime: it renders plans, and publishes where they are reached",
    crds=(),
    controllers=lambda: configured(names.RUNTIME),
)
SCORE = (ORCHESTRATOR, REGISTRAR, MIRROR, RUNTIME)


def without_runtime() -> tuple[Declaration, ...]:
    """Everything but the Kubernetes runtime: for clusters where others run what is planned."""
    return tuple(controller for part in (ORCHESTRATOR, REGISTRAR, MIRROR) for controller in part.controllers())
