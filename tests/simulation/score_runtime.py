"""The Score family with its Kubernetes runtime in the simulator: what runs is the oracle.

The world stands in for kube-controller-manager and the kubelet: a Deployment runs a moment later, unless its name is
in `failing`. So a Workload that is reported as running, and never ran, is seen at once. Its Pod has an address, and
what listens there may refuse, stop, answer late or with another protocol: a Workload with a port is ready only after
its Pod has answered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seamark.families.score.family import CRDS, runtime_controllers, without_runtime
from seamark.families.score.model.options import Options, Pace
from seamark.families.score.model.runtime import GENERATION, WORKLOAD_LABEL
from seamark.families.score.remote import PATIENCE
from seamark.families.score.workloadexposure.controller import MAY_BE_MISSING
from seamark.families.score.workloadexposure.state import Dial, Lookup, OtherProtocol, PortRefused, Probe
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from seamark_runtime.errors import Retry
from seamark_runtime.resolver import Resolver
from tests.simulation.invariants import conditions_of
from tests.simulation.scenario import Step, Violation
from tests.simulation.workloads import (
    DEPLOYMENTS,
    EXPOSURES,
    NAMESPACE,
    OUTAGES,
    PLANS,
    SERVICES,
    WORKLOADS,
    WorkloadScenario,
    create,
    delete,
    delete_all,
    edit,
    image,
    owners,
    patch,
    recreate,
    unexpected_condition,
)

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write

PODS = "pods"
PACE = Pace(probe=10.0)
KEPT = 3 * PACE.probe + 60.0 + 5.0  # the shelf life of a connection, and of a status after a restart
ACCEPTS = {
    "refuses": "False",
    "otherwise": "False",
    "stopped": "False",
}  # RuntimeReady by what listens; here the Service is asked, too
ADDRESSES = {"web": "10.0.0.1", "job": "10.0.0.2"}
PAUSE = 0.03  # seconds after which Kubernetes has done its part
# Kinds that may be missing are there: to look for them again and again takes most of a day without writes.
OTHERS = tuple(CRD(kind=kind, annotations={"api-approved.kubernetes.io": "test"}) for kind in MAY_BE_MISSING)
WEB = {"ports": [{"name": "web", "port": 80}]}
SERVICE = f"/api/v1/namespaces/{NAMESPACE}/services"


class Kubernetes:
    """Runs what is deployed. A name in `failing` has a pod that does not run."""

    def __init__(self) -> None:
        self.world: World
        self.failing: set[str] = set()
        self.ran: set[tuple[str, str]] = set()  # (uid of the plan, generation of the Workload) that ever ran
        self.listening: dict[str, str] = {}  # name → refuses, otherwise, stopped or late; it listens if it is not here
        self.accepted: dict[str, float] = {}  # uid of a Pod → when it has last accepted a connection

    async def attempt(self, action: Any) -> bool:
        """What becomes of a connection of the operator."""
        if isinstance(action, Lookup):
            return True
        if any(self.world.under(outage) for outage in OUTAGES):
            raise Retry("Port 80 does not answer")
        pod = next((pod for pod in self.world.store.objects(PODS) if _leads_to(action, pod)), None)
        if pod is None:
            raise PortRefused("Connections to port 80 are refused")
        await self._connect(pod["metadata"]["labels"][WORKLOAD_LABEL])
        self.accepted[pod["metadata"]["uid"]] = self.world.clock.monotonic()
        return True

    async def _connect(self, name: str) -> bool:
        match self.listening.get(name):
            case "refuses":
                raise PortRefused("Connections to port 80 are refused")
            case "otherwise":
                raise OtherProtocol("Port 80 answers, but not with HTTP")
            case "stopped":
                await asyncio.sleep(PATIENCE)
                raise Retry("Port 80 does not answer")
            case "late":
                await asyncio.sleep(PATIENCE - 1)
        return True

    def _pod(self, deployment: Any, *, ready: bool) -> None:
        """There is one Pod for a Deployment, of the same name and address each time."""
        name = deployment["metadata"]["name"]
        template = deployment["spec"]["template"]
        found = self.world.store.get(PODS, NAMESPACE, f"{name}-0")
        if found is not None and found["metadata"]["annotations"] != pod_of(deployment):
            delete(self.world, PODS, f"{name}-0")
            found = None
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {"phase": "Running", "podIP": ADDRESSES[name], "conditions": conditions}
        if found is None:
            owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": deployment["metadata"]["uid"]}
            metadata = {"name": f"{name}-0", "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}
            metadata |= {"ownerReferences": [owner], "annotations": pod_of(deployment)}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
            self.world.store.create(body)
        if found is None or found["status"].get("conditions") != conditions:
            patch(self.world, f"/api/v1/namespaces/{NAMESPACE}/pods/{name}-0/status", {"status": status})

    def deployed(self, name: str) -> None:
        self.world.intentions += 1
        asyncio.get_running_loop().call_later(PAUSE, self._run, name)

    def _run(self, name: str) -> None:
        if any(self.world.under(outage) for outage in OUTAGES):
            asyncio.get_running_loop().call_later(1.0, self._run, name)
            return
        self.world.intentions -= 1
        deployment = self.world.store.get(DEPLOYMENTS, NAMESPACE, name)
        if deployment is None:
            return
        available = 0 if name in self.failing else 1
        progressing = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": 1,
            "updatedReplicas": 1,
            "readyReplicas": available,
            "availableReplicas": available,
            "conditions": [progressing],
        }
        self._pod(deployment, ready=bool(available))
        if available:
            self.ran |= {(uid, deployment["metadata"]["annotations"][GENERATION]) for uid in owners(deployment)}
        before = deployment.get("status") or {}
        if any(before.get(key, 0) != value for key, value in status.items() if key != "conditions"):
            patch(self.world, f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}/status", {"status": status})


class ScoreRuntimeScenario(WorkloadScenario):
    name = "score-runtime"
    crds: tuple[CRD, ...] = (*CRDS, *OTHERS)

    def __init__(self) -> None:
        super().__init__()
        self._plans: dict[str, str] = {}  # uid of a plan → uid of its Workload

    def outside(self) -> Kubernetes:
        return Kubernetes()

    def controllers(self, outside: Any) -> tuple[Declaration, ...]:
        runtime = runtime_controllers(Options(inside=True, pace=PACE), Resolver(), attempt=outside.attempt)
        return (*without_runtime(), *runtime)

    def attach(self, world: World) -> None:
        super().attach(world)
        world.store.revisions.subscribe(DEPLOYMENTS, self._deployment_changed)
        world.store.revisions.subscribe(PLANS, self._plan_changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        return (
            Step("a workload", lambda world: create(world, "web", service=WEB), most=14),
            Step("one without ports", lambda world: create(world, "job"), most=10),
            Step("another image", lambda world: edit(world, "web", containers=image("b")), most=10),
            Step("its pod dies", lambda world: die(world, "web"), most=4),
            Step("and comes back", lambda world: revive(world, "web"), most=4),
            Step("nobody listens", lambda world: listen(world, "web", "refuses"), most=8),
            Step("it listens again", lambda world: listen(world, "web", ""), most=8),
            Step("something else answers", lambda world: listen(world, "web", "otherwise"), most=8),
            Step("it answers again", lambda world: listen(world, "web", ""), most=8),
            Step("its process is stopped", lambda world: listen(world, "web", "stopped"), most=8),
            Step("another image is, too", lambda world: edit(world, "web", containers=image("c")), most=14),
            Step("it answers late", lambda world: listen(world, "web", "late"), most=8),
            Step("and in time again", lambda world: listen(world, "web", ""), most=8),
            Step("the deployment is deleted by hand", lambda world: delete(world, DEPLOYMENTS, "web"), most=9),
            Step("the exposure is deleted by hand", lambda world: delete(world, EXPOSURES, "web"), most=8),
            Step("a user removes the service's ports", mangle_service, most=4),
            Step("it offers nothing any more", lambda world: edit(world, "web", service=None), most=12),
            Step("and offers again", lambda world: edit(world, "web", service=WEB), most=12),
            Step("one goes, a namesake comes", lambda world: recreate(world, "job"), most=14),
            Step("the operator restarts", lambda world: world.restart_operator()),
            Step("one goes", lambda world: delete(world, WORKLOADS, "job"), most=6),
        )

    def farewell(self) -> Step:
        return Step("all go", delete_all, most=8)

    def restore(self, world: World) -> None:
        super().restore(world)
        for deployment in world.store.objects(DEPLOYMENTS):
            world.outside.deployed(deployment["metadata"]["name"])

    # ---- what is true

    def _plan_changed(self, event: Event) -> None:
        if event.new is not None:
            self._plans[event.new["metadata"]["uid"]] = event.new["spec"]["workloadRef"]["uid"]

    def _deployment_changed(self, event: Event) -> None:
        new, old = event.new, event.old
        if new is not None and (old is None or seen_by_kubernetes(old) != seen_by_kubernetes(new)):
            self._world.outside.deployed(new["metadata"]["name"])

    def _no_lie(self, workload: Any) -> None:
        """What is reported as running has run, for this very Workload and generation."""
        meta = workload["metadata"]
        ran = {(self._plans.get(uid), generation) for uid, generation in self._world.outside.ran}
        for name in ("RuntimeReady", "Ready"):
            condition = conditions_of(workload).get(name, {})
            observed = str(condition.get("observedGeneration"))
            if condition.get("status") == "True" and observed == str(meta["generation"]):
                self._accepted(workload, name)
            if condition.get("status") == "True" and (meta["uid"], observed) not in ran:
                raise Violation(
                    "no lie", f"{name} of {meta['name']} is True for generation {observed}, which never ran"
                )

    def _accepted(self, workload: Any, condition: str) -> None:
        """The Pod that runs now has accepted a connection, not too long ago."""
        world, name = self._world, workload["metadata"]["name"]
        pod = world.store.get(PODS, NAMESPACE, f"{name}-0")
        if not (workload["spec"].get("service") or {}).get("ports") or pod is None:
            return
        age = world.clock.monotonic() - world.outside.accepted.get(pod["metadata"]["uid"], float("-inf"))
        if age > KEPT:
            raise Violation(
                "no lie", f"{condition} of {name} is True, and its Pod has accepted no connection for {age} s"
            )

    def wrote(self, world: World, write: Write) -> None: ...

    # ---- at rest

    def _workload_unsettled(self, world: World, workload: Any) -> str:
        meta, spec, status = workload["metadata"], workload["spec"], workload.get("status") or {}
        name = meta["name"]
        ports = (spec.get("service") or {}).get("ports")
        accepts = ACCEPTS.get(world.outside.listening.get(name, ""), "True") if ports else "True"
        runs = "False" if name in world.outside.failing else accepts
        expected = {"InputsValid": "True", "ClaimsReady": "True", "RuntimeReady": runs, "Ready": runs}
        if problem := unexpected_condition(workload, expected):
            return problem
        url = f"http://{name}.{NAMESPACE}.svc.cluster.local:80" if ports else None
        if status.get("endpoint") != url:
            return f"its endpoint is {status.get('endpoint')}, and should be {url}"
        return self._rendered(world, workload, ports)

    def _rendered(self, world: World, workload: Any, ports: Any) -> str:
        name = workload["metadata"]["name"]
        deployment = world.store.get(DEPLOYMENTS, NAMESPACE, name)
        if deployment is None:
            return "it has no Deployment"
        images = [container["image"] for container in deployment["spec"]["template"]["spec"]["containers"]]
        if images != [container["image"] for container in workload["spec"]["containers"].values()]:
            return f"its Deployment runs {images}"
        service = world.store.get(SERVICES, NAMESPACE, name)
        if (service is not None) != bool(ports):
            return f"its Service is {'there' if service else 'missing'}"
        if service is not None and [port["port"] for port in service["spec"]["ports"]] != [80]:
            return "its Service has other ports"
        return ""


def seen_by_kubernetes(deployment: Any) -> tuple[Any, ...]:
    """What makes kube-controller-manager look: the spec, and here the generation that it was rendered for."""
    metadata = deployment["metadata"]
    return metadata["uid"], metadata["generation"], (metadata.get("annotations") or {}).get(GENERATION)


def _leads_to(action: Dial | Probe, pod: Any) -> bool:
    """To the Pod itself, or to it by its Service."""
    if isinstance(action, Dial):
        return bool(pod["status"].get("podIP") == action.address)
    return bool(pod["metadata"]["labels"][WORKLOAD_LABEL] == action.host.partition(".")[0])


def pod_of(deployment: Any) -> dict[str, str]:
    """What makes kube-controller-manager replace a Pod: another Deployment, or another template."""
    template = json.dumps(deployment["spec"]["template"]["spec"], sort_keys=True)
    return {"made-of": f"{deployment['metadata']['uid']} {template}"}


# ---- acts


def listen(world: World, name: str, how: str) -> None:
    world.outside.listening[name] = how


def die(world: World, name: str) -> None:
    world.outside.failing.add(name)
    world.outside.deployed(name)


def revive(world: World, name: str) -> None:
    world.outside.failing.discard(name)
    world.outside.deployed(name)


def mangle_service(world: World) -> None:
    if world.store.get(SERVICES, NAMESPACE, "web") is not None:
        patch(world, f"{SERVICE}/web", {"spec": {"ports": [{"name": "web", "port": 8080, "targetPort": 80}]}})
