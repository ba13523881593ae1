"""The runtime's conditions: whether what was rendered runs, and whether the ways to it are there. Pure."""

from __future__ import annotations

from seamark.api.score import Exposure
from seamark.families.score.model.planvalues import Unfit
from seamark.families.score.model.runtime import GENERATION
from seamark.families.score.workloadexposure.connections import reachable
from seamark.families.score.workloadexposure.names import Names
from seamark.families.score.workloadexposure.places import accepted, addresses, load_balancers, served_by
from seamark.families.score.workloadexposure.state import (
    AVAILABLE,
    DEGRADED,
    DNS_NOT_READY,
    INGRESS_PENDING,
    LB_PENDING,
    PROVISIONING,
    REACHABLE,
    READY,
    Seen,
)
from seamark_runtime.api.core import Pod
from seamark_runtime.api.meta import Condition
from seamark_runtime.conditions import FALSE, TRUE, UNKNOWN, Awaited

# The API server has no reason for these, only messages; these parts of them have never changed.
REFUSALS = {
    "exceeded quota": "QuotaExceeded",
    "forbidden: User": "PermissionDenied",
    "violates PodSecurity": "PolicyViolation",
    "ValidatingAdmissionPolicy": "PolicyViolation",
    "admission webhook": "PolicyViolation",
}
# What a container waits for, in messages that stay the same while the kubelet retries.
WAITING = {
    "ErrImagePull": "its image can't be pulled",
    "ImagePullBackOff": "its image can't be pulled",
    "InvalidImageName": "its image has no valid name",
    "CrashLoopBackOff": "it ends again and again",
    "CreateContainerConfigError": "it can't be configured",
    "CreateContainerError": "it can't be made",
    "RunContainerError": "it can't be started",
}

ROLLING_OUT = "Enough replicas are available, and a rollout is under way"


def conditions(seen: Seen, exposures: tuple[Exposure, ...], names: Names) -> tuple[Condition, ...]:
    rollout = _rolled_out(seen, exposures, names) if rendered_for(seen) else _not_rendered(seen)
    parts = (*rollout, balanced(seen), routed(seen), named(names), reachable(seen, exposures))
    return summed_up(parts), *parts


GOOD_WHEN_TRUE = (AVAILABLE.name, REACHABLE.name)


def summed_up(parts: tuple[Condition, ...]) -> Condition:
    """Named after the first that is a problem: a mirror then finds the same abstract reason in both."""
    if parts[0].status == UNKNOWN:
        return READY.unknown(PROVISIONING.name, parts[0].message)  # it is not rendered yet: the state is not known
    bad = [part for part in parts if part.status == (FALSE if part.type in GOOD_WHEN_TRUE else TRUE)]
    bad.sort(key=lambda part: part.type in GOOD_WHEN_TRUE)  # what says why comes before that it is not available
    if bad:
        return READY.false(_summary_reason(bad[0]), bad[0].message)
    for part in parts:
        if part.status == UNKNOWN:
            make = READY.not_yet if isinstance(part, Awaited) else READY.unknown
            return make(_summary_reason(part), part.message)
    return READY.true("Running", parts[0].message)


def _summary_reason(part: Condition) -> str:
    return "NetworkUnavailable" if part.type == REACHABLE.name else part.type


def rendered_for(seen: Seen) -> bool:
    """Whether what stands was rendered for the requested generation, and Kubernetes has taken note of it."""
    rollout, generation = seen.rollout, seen.exposure.spec.observed_workload_generation
    if rollout is None or rollout.status is None or rollout.annotation(GENERATION) != str(generation):
        return False
    return rollout.status.observed_generation == rollout.metadata.generation


def _not_rendered(seen: Seen) -> tuple[Condition, ...]:
    if message := refused(seen):
        return (
            AVAILABLE.false(why_refused(message), message),
            PROVISIONING.false("RolledOut", "Nothing is under way"),
            DEGRADED.true("Refused", message),
        )
    message = f"Generation {seen.exposure.spec.observed_workload_generation} is not rendered yet"
    return (
        AVAILABLE.unknown("Provisioning", message),
        PROVISIONING.true("RollingOut", message),
        DEGRADED.false("AsItShould", "Nothing is wrong"),
    )


def _rolled_out(seen: Seen, exposures: tuple[Exposure, ...], names: Names) -> tuple[Condition, ...]:
    running, wanted = replicas(seen)
    message = _availability(seen)
    rolling = rolling_out(seen)
    available = (
        AVAILABLE.true("Running", message) if running >= wanted else _unavailable(seen, message, rolling=rolling)
    )
    provisioning = (
        PROVISIONING.true("RollingOut", message) if rolling else PROVISIONING.false("RolledOut", "Nothing is under way")
    )
    return available, provisioning, _degraded(seen, exposures, names, available)


def _availability(seen: Seen) -> str:
    """Without numbers: they change with every Pod, and each changed message is a write."""
    running, wanted = replicas(seen)
    if running >= wanted:
        return ROLLING_OUT if rolling_out(seen) else "All replicas are available"
    message = "Not all replicas are available" if running else "No replica is available"
    return f"{message}: {why}" if (why := _why(seen)) else message


def _unavailable(seen: Seen, message: str, *, rolling: bool) -> Condition:
    why = why_refused(failure) if (failure := replica_failure(seen)) else ""
    if why and why != "Refused":
        return AVAILABLE.false(why, message)
    return AVAILABLE.false("Provisioning" if rolling else "Degraded", message)


def _degraded(seen: Seen, exposures: tuple[Exposure, ...], names: Names, available: Condition) -> Condition:
    if message := refused(seen):
        return DEGRADED.true("Refused", message)
    if rolling_out(seen):
        return DEGRADED.false("AsItShould", "Nothing is wrong")
    if available.status == FALSE:
        return DEGRADED.true("ReplicasMissing", available.message)
    unreachable = [entry.url for entry in exposures if entry.reachable is False and entry.url not in names.lost]
    if unreachable:
        return DEGRADED.true("Unreachable", f"{', '.join(unreachable)} did not answer")
    return DEGRADED.false("AsItShould", "Nothing is wrong")


def refused(seen: Seen) -> str:
    """The error of a child that this generation needs, except routes: it runs without them."""
    if isinstance(seen.values, Unfit):
        return str(seen.values)
    rendered = seen.rendered
    if rendered is None or rendered.generation != seen.exposure.spec.observed_workload_generation:
        return ""
    return rendered.errors(routes=False)


def why_refused(message: str) -> str:
    return next((reason for part, reason in REFUSALS.items() if part in message), "Refused")


def replica_failure(seen: Seen) -> str:
    """Why Kubernetes itself can't make the pods."""
    status = seen.rollout.status if seen.rollout else None
    by_type = {condition.type: condition for condition in (status.conditions if status else ())}
    failure = by_type.get("ReplicaFailure")
    return failure.message if failure is not None and failure.status == TRUE else ""


def _why(seen: Seen) -> str:
    if failure := replica_failure(seen):
        return failure
    return "; ".join(sorted({trouble for pod in seen.pods for trouble in _troubles(pod)}))


def _troubles(pod: Pod) -> list[str]:
    scheduled = pod.condition("PodScheduled")
    if scheduled is not None and scheduled.status == FALSE:
        return ["no node takes its pod"]
    found = []
    for container in pod.status.container_statuses or ():
        waiting = (container.state or {}).get("waiting") or {}
        if trouble := WAITING.get(waiting.get("reason", "")):
            details = waiting.get("message", "") if waiting["reason"].startswith("CreateContainer") else ""
            found.append(f"{container.name}: {trouble}{f' ({details})' if details else ''}")
    return found


def replicas(seen: Seen) -> tuple[int, int]:
    rollout = seen.rollout
    status = rollout.status if rollout else None
    wanted = rollout.spec.replicas if rollout and rollout.spec.replicas is not None else 1
    return (status.available_replicas if status else 0), wanted


def rolling_out(seen: Seen) -> bool:
    rollout = seen.rollout
    status = rollout.status if rollout else None
    if status is None:
        return True
    by_type = {condition.type: condition for condition in status.conditions}
    progressing = by_type.get("Progressing")
    if progressing is not None:  # a Deployment reports it itself
        done = progressing.status == TRUE and progressing.reason == "NewReplicaSetAvailable"
        return not done and progressing.status != FALSE
    return status.updated_replicas < replicas(seen)[1]


# ---- the ways in


def balanced(seen: Seen) -> Condition:
    waiting = [service.metadata.name for service in load_balancers(seen) if not addresses(service)]
    if waiting:
        return LB_PENDING.true("NoAddress", f"the Service {', '.join(waiting)} has no address yet")
    return LB_PENDING.false("Addressed", "Every load balancer has an address, or there is none")


def routed(seen: Seen) -> Condition:
    if seen.rendered is not None and (message := seen.rendered.errors(routes=True)):
        return INGRESS_PENDING.true("Refused", message)
    planned = () if isinstance(seen.values, Unfit) else seen.values.routes
    wanted = {f"{seen.exposure.metadata.name}.{route.key}" for route in planned}
    waiting = wanted - {route.metadata.name for route in seen.routes}
    for route in seen.routes:
        if not any(served_by(seen, route, entry) is not None for entry in accepted(route)):
            waiting.add(route.metadata.name)
    if waiting:
        return INGRESS_PENDING.true("RouteNotServed", f"no Gateway serves the route {', '.join(sorted(waiting))} yet")
    unserved = [ingress.metadata.name for ingress in seen.ingresses if not addresses(ingress)]
    if unserved:
        return INGRESS_PENDING.true("IngressNotServed", f"the Ingress {', '.join(unserved)} has no address yet")
    return INGRESS_PENDING.false("Served", "Every Ingress and route is served, or there is none")


def named(names: Names) -> Condition:
    if names.failed:
        message = "; ".join(f"{host}: {error}" for host, error in sorted(names.failed.items()))
        return DNS_NOT_READY.true("NoAnswer" if names.looked_up else "RecordNotReady", message)
    if names.waiting:
        return DNS_NOT_READY.unknown("NotAskedYet", f"{', '.join(sorted(names.waiting))} was not looked up yet")
    return DNS_NOT_READY.false("Answered", "Every host name has an answer, or there is none")
