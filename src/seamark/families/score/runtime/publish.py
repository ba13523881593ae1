"""What was rendered → what the runtime says: where it is reached, and whether it is well. No client, no clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from seamark.api.meta import Condition
from seamark.api.score import Exposure, WorkloadExposureStatus
from seamark.core.apply import Answers
from seamark.core.calls import Call, Failed
from seamark.core.conditions import FALSE, TRUE
from seamark.core.controller import Wanted
from seamark.core.source import Fresh
from seamark.families.score.runtime.state import (
    AVAILABLE,
    DEGRADED,
    GENERATION,
    INGRESS_PENDING,
    PROVISIONING,
    Probe,
    Published,
)

SCHEMES = {80: "http", 8080: "http", 443: "https", 8443: "https", 50051: "grpc"}
HINTS = {"http": "HTTP", "https": "HTTPS", "grpc": "GRPC", "tcp": "TCP"}
NAMES = ("http", "https", "grpc")
ROUTE_PRIORITY, SERVICE_PRIORITY = 100, 0
PROBE_EVERY, PROBE_KEEPS = 10.0, 30.0


def desire(seen: Published) -> Wanted:
    return Wanted(calls=tuple(call for _, call in probed(seen)))


def judge(seen: Published, _answers: Answers) -> WorkloadExposureStatus:
    exposures = tuple(exposed(seen))
    asked = seen.exposure.spec.observed_workload_generation
    told = conditions(seen, exposures) if rendered_for(seen, asked) else not_rendered(seen)
    return WorkloadExposureStatus(exposures=exposures, conditions=told, observed_workload_generation=asked)


def rendered_for(seen: Published, generation: int) -> bool:
    """Whether what stands in the cluster was rendered for this generation, and Kubernetes has taken note of it."""
    rollout = seen.rollout
    if rollout is None or rollout.status is None or rollout.annotation(GENERATION) != str(generation):
        return False
    return rollout.status.observed_generation == rollout.metadata.generation


def not_rendered(seen: Published) -> tuple[Condition, ...]:
    served = INGRESS_PENDING.false("Served", "Nothing is routed yet")
    if seen.rendered is not None and seen.rendered.refused:
        words = seen.rendered.refused
        return (
            AVAILABLE.false("Refused", words),
            PROVISIONING.false("RolledOut", "Nothing is under way"),
            DEGRADED.true("Refused", words),
            served,
        )
    words = "This generation is being rendered"
    return (
        AVAILABLE.unknown("Provisioning", words),
        PROVISIONING.true("RollingOut", words),
        DEGRADED.false("AsItShould", "Nothing is wrong"),
        served,
    )


def conditions(seen: Published, exposures: tuple[Exposure, ...]) -> tuple[Condition, ...]:
    running, wanted = replicas(seen)
    words = f"{running} of {wanted} replicas are available"
    rolling = rolling_out(seen)
    why = "Provisioning" if rolling else "Degraded"
    available = AVAILABLE.true("Running", words) if running >= wanted else AVAILABLE.false(why, words)
    provisioning = (
        PROVISIONING.true("RollingOut", words) if rolling else PROVISIONING.false("RolledOut", "Nothing is under way")
    )
    return available, provisioning, degraded(exposures, available, rolling=rolling), routed(seen, exposures)


def degraded(exposures: tuple[Exposure, ...], available: Condition, *, rolling: bool) -> Condition:
    if available.status == FALSE and not rolling:
        return DEGRADED.true("ReplicasMissing", available.message)
    dead = [one.url for one in exposures if one.reachable is False]
    if dead and not rolling:
        return DEGRADED.true("Unreachable", f"{', '.join(dead)} did not answer")
    return DEGRADED.false("AsItShould", "Nothing is wrong")


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
    if progressing is not None:  # a Deployment says so itself
        done = progressing.status == TRUE and progressing.reason == "NewReplicaSetAvailable"
        return not done and progressing.status != FALSE
    return status.updated_replicas < replicas(seen)[1]


def routed(seen: Published, exposures: tuple[Exposure, ...]) -> Condition:
    wanted = routes(seen)
    if not wanted:
        return INGRESS_PENDING.false("Served", "There is no route")
    waiting = [one["host"] for one in wanted if not served(seen, one["key"])]
    if waiting and not seen.routes:
        return INGRESS_PENDING.true("NoGatewayAPI", f"nobody here makes a route for {', '.join(waiting)}")
    if waiting:
        return INGRESS_PENDING.true("RouteNotServed", f"the Gateway does not serve {', '.join(waiting)} yet")
    return INGRESS_PENDING.false("Served", "Every route is served")


# ---- where it is reached


def values(seen: Published) -> dict[str, Any]:
    return (seen.plan.spec.resolved_values if seen.plan else None) or {}


def routes(seen: Published) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = values(seen).get("routes", [])
    return found


def served(seen: Published, key: str) -> bool:
    """The route was accepted as it is now, and its Gateway is programmed."""
    route, gateway = seen.routes.get(key), seen.gateway
    if route is None or route.status is None or gateway is None or gateway.status is None:
        return False
    accepted = any(
        one.type == "Accepted" and one.status == TRUE and one.observed_generation == route.metadata.generation
        for parent in route.status.parents or ()
        for one in parent.conditions
    )
    return accepted and any(one.type == "Programmed" and one.status == TRUE for one in gateway.status.conditions)


def places(seen: Published) -> Iterator[tuple[str, str, int, Exposure]]:
    """(what it is, host, port, the entry) of each way in, without whether it answers."""
    for one in routes(seen):
        if served(seen, one["key"]):
            path = one.get("path") or "/"
            url = f"http://{one['host']}{'' if path == '/' else path}"
            entry = Exposure(url=url, priority=ROUTE_PRIORITY, scope="Public", scheme_hint="HTTP")
            yield one["key"], one["host"], 80, entry
    if seen.service is not None:
        metadata = seen.service.metadata
        host = f"{metadata.name}.{metadata.namespace}.svc.cluster.local"
        for port in ((seen.service.spec.ports if seen.service.spec else None) or ())[:1]:
            scheme = scheme_of(port.name, port.port, port.protocol)
            url = f"{scheme}://{host}:{port.port}"
            hint = HINTS.get(scheme, "OTHER")
            entry = Exposure(url=url, priority=SERVICE_PRIORITY, scope="ClusterLocal", scheme_hint=hint)
            yield "service", host, port.port, entry


def scheme_of(name: str, port: int, protocol: str) -> str:
    """By the port's name, else by its number: nothing else in a Score file tells."""
    if protocol == "UDP":
        return "udp"
    named = next((one for one in NAMES if name == one or name.startswith(f"{one}-")), "")
    return named or ("http" if name == "web" else SCHEMES.get(port, "tcp"))


def probed(seen: Published) -> Iterator[tuple[Exposure, Call[bool]]]:
    for what, host, port, entry in places(seen) if seen.probes else ():
        if entry.scheme_hint != "OTHER":
            target = f"{seen.exposure.key}/{what}"
            yield entry, Call(target=target, action=Probe(host, port), every=PROBE_EVERY, shelf_life=PROBE_KEEPS)


def exposed(seen: Published) -> Iterator[Exposure]:
    calls = {entry.url: call for entry, call in probed(seen)}
    for _, _, _, entry in places(seen):
        yield entry if entry.url not in calls else _with_answer(entry, seen.results.to(calls[entry.url]))


def _with_answer(entry: Exposure, answer: Any) -> Exposure:
    if isinstance(answer, Fresh | Failed):
        return msgspec.structs.replace(entry, reachable=isinstance(answer, Fresh))
    return entry  # nobody has answered, or not for a while: nothing is said
