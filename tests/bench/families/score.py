"""FAMILY=score: Workloads that are planned, registered, published by a fake runtime, and mirrored.

The fake runtime runs inside of the operator's process and costs it one request an object, which is not ours: of the
requests counted, at most five are the family's and one is the runtime's. The floor makes the least: four and one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Iterable
from typing import Any

from seamark.api.score import Exposure, Workload, WorkloadExposure, WorkloadExposureStatus, WorkloadPlan
from seamark.families.score.family import CRDS, without_runtime
from seamark_runtime.api.meta import Object
from seamark_runtime.apply import Answers
from seamark_runtime.client import APPLY_PATCH
from seamark_runtime.conditions import TRUE
from seamark_runtime.controller import Controller, Declaration, Wanted
from seamark_runtime.status import ByManager
from tests.bench.families.score_latency import BY_HAND, publications
from tests.bench.report import Finished, above, save
from tests.bench.scenario import Made, Sort, Targets, Write
from tests.bench.setting import setting
from tests.bench.spread import percentile
from tests.bench.standard import drawn, standard

NEW_YEAR = "2026-01-01T00:00:00Z"
MOST_MS = 100.0  # from a publication to the endpoint, at rest
LARGE = 1200  # characters of a variable that make an object of about 2 KB


def played_runtime() -> Controller[WorkloadExposure]:
    """Publishes a URL for what it is asked for, at once."""

    def judge(exposure: WorkloadExposure, _answers: Answers) -> WorkloadExposureStatus:
        url = f"https://{exposure.metadata.name}.example.com"
        return WorkloadExposureStatus(
            exposures=(Exposure(url=url),),
            observed_workload_generation=exposure.spec.observed_workload_generation,
        )

    return Controller(
        name="played-runtime",
        kind=WorkloadExposure,
        observe=lambda _view, exposure, _results: None if exposure.metadata.name.startswith(BY_HAND) else exposure,
        desire=lambda _exposure: Wanted(),
        judge=judge,
        status=ByManager("played", conditions=(), fields=("exposures", "observed_workload_generation")),
    )


class ScoreScenario:
    crds = CRDS
    watched = Workload
    children = (WorkloadPlan, WorkloadExposure)
    tear_down = (Workload.RESOURCE, WorkloadPlan.RESOURCE, WorkloadExposure.RESOURCE)
    at_rest = 3.0
    targets = Targets(requests_per_object=6.0, time_vs_floor=1.5, cpu_ms_per_object=8.0, rss_mb_per_1000=30.0)

    def controllers(self) -> tuple[Declaration, ...]:
        return (*without_runtime(), played_runtime())

    def make(self, namespace: str, name: str, sort: Sort) -> Write:
        variables = {"variables": {"NOTE": "x" * LARGE}} if sort is Sort.LARGE else {}
        body = {
            "apiVersion": Workload.RESOURCE.api_version,
            "kind": "Workload",
            "metadata": {"name": name},
            "spec": {
                "containers": {"main": {"image": "nginx", **variables}},
                "service": {"ports": [{"name": "web", "port": 80}]},
            },
        }
        return Write("POST", Workload.RESOURCE.path(namespace), body)

    def work(self, made: Made) -> Generator[Write, Made, None]:
        ref = {"name": made.name, "namespace": made.namespace, "uid": made.uid}
        asked = {"workloadRef": ref, "observedWorkloadGeneration": made.generation, "runtimeClass": "kubernetes"}
        plan = {**asked, "template": {"kind": "manifests"}, "resolvedValues": {"kind": "Deployment"}}
        url = f"https://{made.name}.example.com"
        yield child(WorkloadPlan, made, plan)
        yield child(WorkloadExposure, made, asked)
        published = {"exposures": [{"url": url}], "observedWorkloadGeneration": made.generation}
        yield status(WorkloadExposure, made, "played", published)
        mirrored = {"endpoint": url, "conditions": [condition(made, "RuntimeReady", "True")]}
        yield status(Workload, made, "score-mirror", mirrored)
        yield status(Workload, made, "score-orchestrator", {"conditions": conditions_of(made)})

    def done(self, obj: Workload) -> bool:
        status = obj.status
        return (
            status is not None
            and status.endpoint is not None
            and any(one.type == "Ready" and one.status == TRUE for one in status.conditions)
        )

    def owners(self, child: Object) -> Iterable[str]:
        return (reference.uid for reference in child.metadata.owner_references or ())


def child(kind: type[Object], made: Made, spec: dict[str, Any]) -> Write:
    owner = {
        "apiVersion": Workload.RESOURCE.api_version,
        "kind": "Workload",
        "name": made.name,
        "uid": made.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    resource = kind.RESOURCE
    metadata = {"name": made.name, "namespace": made.namespace, "ownerReferences": [owner]}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
    return Write("POST", f"{resource.path(made.namespace)}?fieldManager=seamark", body)


def status(kind: type[Object], made: Made, manager: str, said: dict[str, Any]) -> Write:
    resource = kind.RESOURCE
    metadata = {"name": made.name, "namespace": made.namespace}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": said}
    path = resource.path(made.namespace, made.name, "status")
    return Write("PATCH", f"{path}?fieldManager={manager}&force=true", body, APPLY_PATCH)


def conditions_of(made: Made) -> list[dict[str, Any]]:
    return [
        condition(made, "Ready", "True"),
        condition(made, "InputsValid", "True"),
        condition(made, "ClaimsReady", "True"),
    ]


def condition(made: Made, name: str, status: str) -> dict[str, Any]:
    words = {"reason": "Succeeded", "message": "As it should be", "lastTransitionTime": NEW_YEAR}
    return {"type": name, "status": status, "observedGeneration": made.generation, **words}


SCENARIO = ScoreScenario()


async def bench(asked: argparse.Namespace, say: Callable[[str], None]) -> Finished:
    """The standard course, and how long a publication takes at rest."""
    async with setting(asked.family) as where:
        line, details = await standard(where, asked.n, asked.pairs, 60 * asked.minutes, say)
        times = [1000 * seconds for seconds in await publications(where)]
    p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
    missed = [*line.missed(SCENARIO.targets), *above({"publication_p50_ms": p50}, {"publication_p50_ms": MOST_MS})]
    result = {"result": line, **details, "publication_ms": times}
    shown = drawn(details["pairs"], asked.n, SCENARIO.targets.time_vs_floor)
    say(f"details are in {save(asked.family, 'standard', result, drawn=shown)}")
    text = f"{line.text(asked.family)} publication_p50_ms={p50:.1f} publication_p99_ms={p99:.1f}"
    return Finished(text, tuple(missed))
