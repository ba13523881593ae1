"""The Score family in its parts: each can be a program of its own, with an identity and rights of its own."""

from __future__ import annotations

from seamark.api.score import Workload
from seamark.families.score.config import KEY
from seamark.families.score.configuration.controller import controller as configuration
from seamark.families.score.crds import CRDS
from seamark.families.score.mirror.controller import controller as mirror
from seamark.families.score.orchestrator.controller import controller as orchestrator
from seamark.families.score.provisioner.controller import controller as provisioner
from seamark.families.score.registrar.controller import controller as registrar
from seamark.families.score.runtime.controller import controllers as runtime
from seamark.families.score.settings import loaded, options_of
from seamark_runtime.api.meta import Key
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Declaration, guarded
from seamark_runtime.family import Family


def alone(one: Declaration) -> tuple[Declaration, ...]:
    """Leaves a Workload alone while another controller undoes what we write there."""
    return guarded(CompetingControllers("kind", str(Workload.RESOURCE)), one)


def config_key() -> Key:
    """Which ConfigMap is the platform's configuration."""
    return Key(loaded().score_namespace or KEY.namespace, KEY.name)


def kubernetes_runtime() -> tuple[Declaration, ...]:
    return runtime(options_of(loaded()))


ORCHESTRATOR = Family(
    name="score-orchestrator",
    summary="Workload: its backend is chosen, its resources are claimed, its plan is made",
    crds=CRDS,
    controllers=lambda: (configuration(config_key()), *alone(orchestrator(config_key())), provisioner(config_key())),
)
REGISTRAR = Family(
    name="score-registrar",
    summary="WorkloadExposure: a runtime is asked where a Workload is reached",
    crds=(),
    controllers=lambda: alone(registrar()),
)
MIRROR = Family(
    name="score-mirror",
    summary="Workload: its endpoint is what its runtime published",
    crds=(),
    controllers=lambda: alone(mirror(config_key())),
)
RUNTIME = Family(
    name="score-runtime",
    summary="The Kubernetes runtime: it renders plans, and publishes where they are reached",
    crds=(),
    controllers=kubernetes_runtime,
)
SCORE = (ORCHESTRATOR, REGISTRAR, MIRROR, RUNTIME)


def without_runtime() -> tuple[Declaration, ...]:
    """Everything but the Kubernetes runtime: for clusters where others run what is planned."""
    return tuple(one for part in (ORCHESTRATOR, REGISTRAR, MIRROR) for one in part.controllers())
