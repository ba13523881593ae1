"""The runtime's conditions: whether what was rendered runs, and whether the ways to it are there. Pure."""

from __future__ import annotations

from seamark.api.score import Exposure
from seamark.families.score.runtime.names import Names
from seamark.families.score.runtime.places import accepted, addresses, gateway_key, load_balancers, programmed
from seamark.families.score.runtime.state import (
    AVAILABLE,
    DEGRADED,
    DNS_NOT_READY,
    GENERATION,
    INGRESS_PENDING,
    LB_PENDING,
    PROVISIONING,
    READY,
    Published,
)
from seamark.families.score.runtime.values import Unfit
from seamark_runtime.api.core import Pod
from seamark_runtime.api.meta import Condition
from seamark_runtime.conditions import FALSE, TRUE, UNKNOWN

# The API server has no reason for these, only words; it is their beginning that has never changed.
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


def conditions(seen: Published, exposures: tuple[Exposure, ...], names: Names) -> tuple[Condition, ...]:
    rollout = _rolled_out(seen, exposures, names) if rendered_for(seen) else _not_rendered(seen)
    told = (*rollout, balanced(seen), routed(seen), named(names))
    return summed_up(told), *told


def summed_up(told: tuple[Condition, ...]) -> Condition:
    """Named after the first that is bad news: a mirror then finds the same abstract reason in both."""
    if told[0].status == UNKNOWN:
        return READY.unknown(PROVISIONING.name, told[0].message)  # it is not rendered yet: there is no verdict
    bad = [one for one in told if one.status == (FALSE if one.type == AVAILABLE.name else TRUE)]
    bad.sort(key=lambda one: one.type == AVAILABLE.name)  # what says why comes before that it is not available
    if bad:
        return READY.false(bad[0].type, bad[0].message)
    unknown = [one for one in told if one.status == UNKNOWN]
    if unknown:
        return READY.unknown(unknown[0].type, unknown[0].message)
    return READY.true("Running", told[0].message)


def rendered_for(seen: Published) -> bool:
    """Whether what stands was rendered for the generation that is asked for, and Kubernetes has taken note of it."""
    rollout, asked = seen.rollout, seen.exposure.spec.observed_workload_generation
    if rollout is None or rollout.status is None or rollout.annotation(GENERATION) != str(asked):
        return False
    return rollout.status.observed_generation == rollout.metadata.generation


def _not_rendered(seen: Published) -> tuple[Condition, ...]:
    if words := refused(seen):
        return (
            AVAILABLE.false(why_refused(words), words),
            PROVISIONING.false("RolledOut", "Nothing is under way"),
            DEGRADED.true("Refused", words),
        )
    words = "This generation is being rendered"
    return (
        AVAILABLE.unknown("Provisioning", words),
        PROVISIONING.true("RollingOut", words),
        DEGRADED.false("AsItShould", "Nothing is wrong"),
    )


def _rolled_out(seen: Published, exposures: tuple[Exposure, ...], names: Names) -> tuple[Condition, ...]:
    running, wanted = replicas(seen)
    words = f"{running} of {wanted} replicas are available"
    if running < wanted and (why := _why(seen)):
        words = f"{words}: {why}"
    rolling = rolling_out(seen)
    available = AVAILABLE.true("Running", words) if running >= wanted else _unavailable(seen, words, rolling=rolling)
    provisioning = (
        PROVISIONING.true("RollingOut", words) if rolling else PROVISIONING.false("RolledOut", "Nothing is under way")
    )
    return available, provisioning, _degraded(seen, exposures, names, available)


def _unavailable(seen: Published, words: str, *, rolling: bool) -> Condition:
    why = why_refused(failure) if (failure := replica_failure(seen)) else ""
    if why and why != "Refused":
        return AVAILABLE.false(why, words)
    return AVAILABLE.false("Provisioning" if rolling else "Degraded", words)


def _degraded(seen: Published, exposures: tuple[Exposure, ...], names: Names, available: Condition) -> Condition:
    if words := refused(seen):
        return DEGRADED.true("Refused", words)
    if rolling_out(seen):
        return DEGRADED.false("AsItShould", "Nothing is wrong")
    if available.status == FALSE:
        return DEGRADED.true("ReplicasMissing", available.message)
    dead = [one.url for one in exposures if one.reachable is False and one.url not in names.lost]
    if dead:
        return DEGRADED.true("Unreachable", f"{', '.join(dead)} did not answer")
    return DEGRADED.false("AsItShould", "Nothing is wrong")


def refused(seen: Published) -> str:
    """The error of a child that this generation needs, except routes: it runs without them."""
    if isinstance(seen.values, Unfit):
        return str(seen.values)
    rendered = seen.rendered
    if rendered is None or rendered.generation != seen.exposure.spec.observed_workload_generation:
        return ""
    return rendered.words(routes=False)


def why_refused(words: str) -> str:
    return next((reason for part, reason in REFUSALS.items() if part in words), "Refused")


def replica_failure(seen: Published) -> str:
    """Why Kubernetes itself can't make the pods."""
    status = seen.rollout.status if seen.rollout else None
    said = {one.type: one for one in (status.conditions if status else ())}
    failure = said.get("ReplicaFailure")
    return failure.message if failure is not None and failure.status == TRUE else ""


def _why(seen: Published) -> str:
    if failure := replica_failure(seen):
        return failure
    return "; ".join(sorted({words for pod in seen.pods for words in _troubles(pod)}))


def _troubles(pod: Pod) -> list[str]:
    scheduled = pod.condition("PodScheduled")
    if scheduled is not None and scheduled.status == FALSE:
        return ["no node takes its pod"]
    found = []
    for one in pod.status.container_statuses or ():
        waiting = (one.state or {}).get("waiting") or {}
        if words := WAITING.get(waiting.get("reason", "")):
            said = waiting.get("message", "") if waiting["reason"].startswith("CreateContainer") else ""
            found.append(f"{one.name}: {words}{f' ({said})' if said else ''}")
    return found


def replicas(seen: Published) -> tuple[int, int]:
    rollout = seen.rollout
    status = rollout.status if rollout else None
    wanted = rollout.spec.replicas if rollout and rollout.spec.replicas is not None else 1
    return (status.available_replicas if status else 0), wanted


def rolling_out(seen: Published) -> bool:
    rollout = seen.rollout
    status = rollout.status if rollout else None
    if status is None:
        return True
    said = {one.type: one for one in status.conditions}
    progressing = said.get("Progressing")
    if progressing is not None:  # a Deployment reports it itself
        done = progressing.status == TRUE and progressing.reason == "NewReplicaSetAvailable"
        return not done and progressing.status != FALSE
    return status.updated_replicas < replicas(seen)[1]


# ---- the ways in


def balanced(seen: Published) -> Condition:
    waiting = [one.metadata.name for one in load_balancers(seen) if not addresses(one)]
    if waiting:
        return LB_PENDING.true("NoAddress", f"the Service {', '.join(waiting)} has no address yet")
    return LB_PENDING.false("Addressed", "Every load balancer has an address, or there is none")


def routed(seen: Published) -> Condition:
    if seen.rendered is not None and (words := seen.rendered.words(routes=True)):
        return INGRESS_PENDING.true("Refused", words)
    planned = () if isinstance(seen.values, Unfit) else seen.values.routes
    wanted = {f"{seen.exposure.metadata.name}.{one.key}" for one in planned}
    waiting = wanted - {route.metadata.name for route in seen.routes}
    for route in seen.routes:
        gateways = (seen.gateways.get(gateway_key(route, parent)) for parent in accepted(route))
        if not any(gateway is not None and programmed(gateway) for gateway in gateways):
            waiting.add(route.metadata.name)
    if waiting:
        return INGRESS_PENDING.true("RouteNotServed", f"no Gateway serves the route {', '.join(sorted(waiting))} yet")
    unserved = [one.metadata.name for one in seen.ingresses if not addresses(one)]
    if unserved:
        return INGRESS_PENDING.true("IngressNotServed", f"the Ingress {', '.join(unserved)} has no address yet")
    return INGRESS_PENDING.false("Served", "Every Ingress and route is served, or there is none")


def named(names: Names) -> Condition:
    if names.failed:
        words = "; ".join(f"{host}: {words}" for host, words in sorted(names.failed.items()))
        return DNS_NOT_READY.true("NoAnswer" if names.asked else "RecordNotReady", words)
    if names.waiting:
        return DNS_NOT_READY.unknown("NotAskedYet", f"{', '.join(sorted(names.waiting))} was not looked up yet")
    return DNS_NOT_READY.false("Answered", "Every host name has an answer, or there is none")
