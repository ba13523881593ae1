"""The endpoints of a Service, and how one set of them is replaced by another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from seamark.families.loadbalancer.model.conditions import condition_of
from seamark.families.loadbalancer.model.metadata import from_annotation
from seamark.families.loadbalancer.model.names import (
    CONTROLLER_NAME,
    CONTROLLER_NAMESPACE,
    FINALIZER,
    FROM_POLICY,
    MADE_FROM,
    OURS,
    child_name,
    digest,
)
from seamark.families.loadbalancer.model.policies import composed
from seamark.families.loadbalancer.service.exposure import FIRST, Exposure
from seamark.families.loadbalancer.service.state import Seen
from seamark_edge.api.ngrok import (
    AgentEndpoint,
    AgentEndpointSpec,
    AgentPolicy,
    CloudEndpoint,
    CloudEndpointSpec,
    CloudPolicy,
    Upstream,
)
from seamark_edge.claims import CREATED
from seamark_edge.urls import Place
from seamark_runtime.api.core import Service, ServicePort
from seamark_runtime.api.meta import ManagedMeta, Object, to_wire

AGENT, CLOUD, INTERNAL = "agent", "cloud", "internal"  # roles; each is followed by the purpose of its port

GONE = 0  # in place of a port's number

Endpoint = AgentEndpoint | CloudEndpoint


def live(seen: Seen) -> dict[str, Endpoint]:
    """What there is, by name."""
    return seen.by_name


def first_served(service: Service, agents: Iterable[AgentEndpoint]) -> int | None:
    """The port that the endpoint of the first address leads to; GONE where that is none of the Service's ports any
    more, None without such an endpoint. One that was edited by hand does not tell that its port is gone."""
    names = {child_name(service, f"{role}/{FIRST}") for role in (AGENT, INTERNAL)}
    ports = {str(port.port): port.port for port in (service.spec.ports if service.spec is not None else None) or ()}
    for agent in agents:
        if agent.metadata.name not in names:
            continue
        number = agent.spec.upstream.url.rpartition(":")[2]
        if number in ports:
            return ports[number]
        if agent.annotation(MADE_FROM) == digest(to_wire(agent.spec)):
            return GONE
    return None


def as_it_is(child: Endpoint) -> Endpoint:
    """A child, wanted just as it is now."""
    meta = child.metadata
    kept = ManagedMeta(
        name=meta.name,
        namespace=meta.namespace,
        labels=meta.labels,
        annotations=meta.annotations,
        finalizers=meta.finalizers,
    )
    return msgspec.structs.replace(child, metadata=kept, status=None)


def endpoints(seen: Seen, exposure: Exposure, places: Mapping[str, Place]) -> dict[str, Object]:
    """The children for these places: what is wanted now, with what must stay until that is up."""
    wanted: dict[str, Object] = {}
    for purpose, port in exposure.by_purpose.items():
        if purpose in places:
            wanted |= _of_port(seen, exposure, purpose, port, places[purpose])
    return wanted


def _of_port(seen: Seen, exposure: Exposure, purpose: str, port: ServicePort, where: Place) -> dict[str, Object]:
    """A change of strategy leaves no gap: the new endpoints are up before the old ones are deleted."""
    there = live(seen)
    agent, cloud, internal = (
        there.get(child_name(seen.service, f"{role}/{purpose}")) for role in (AGENT, CLOUD, INTERNAL)
    )
    made: dict[str, Object] = {}
    if exposure.verbose:
        inside = inner(seen, purpose, port)
        made[f"{INTERNAL}/{purpose}"] = agent_endpoint(seen, exposure, f"{INTERNAL}/{purpose}", port, inside)
        if agent is None or cloud is not None or _up(internal):  # connections go on only to where they are taken
            made |= cloud_endpoint(seen, exposure, purpose, where, inside, shares=agent)
        done, old = _up(cloud) and _up(internal), {AGENT: agent}
    else:
        shared = cloud is None or cloud.deleting or (_shares(cloud) and _up(cloud))
        if shared or agent is not None:
            made |= public_agent(seen, exposure, purpose, port, where)
        done, old = _up(agent), {CLOUD: _sharing(cloud), INTERNAL: internal}
    stays = {
        f"{role}/{purpose}": as_it_is(child) for role, child in old.items() if child is not None and not child.deleting
    }
    return made if done else {**made, **stays}


def _up(child: Endpoint | None) -> bool:
    """The edge has it as it is wanted; whether its upstream is there is another matter."""
    online = (*CREATED, "TrafficPolicyApplied", "DomainReady")
    known = [condition for name in online if (condition := condition_of(child, name)) is not None]
    return child is not None and not child.deleting and len(known) == 3 and all(c.status == "True" for c in known)


def _shares(child: Endpoint | None) -> bool:
    return isinstance(child, CloudEndpoint) and child.spec.pooling_enabled


def _sharing(child: Endpoint | None) -> Endpoint | None:
    """The same endpoint with pooling: so its successor can be up before it is deleted."""
    if not isinstance(child, CloudEndpoint):
        return child
    return msgspec.structs.replace(child, spec=msgspec.structs.replace(child.spec, pooling_enabled=True))


def public_agent(seen: Seen, exposure: Exposure, purpose: str, port: ServicePort, where: Place) -> dict[str, Object]:
    role = f"{AGENT}/{purpose}"
    standing = live(seen).get(child_name(seen.service, role))
    document = policy_document(seen, exposure, where, "")
    policy = AgentPolicy(inline=document) if document else None
    if document is None:
        if not isinstance(standing, AgentEndpoint):
            return {}  # nothing opens before its policy is known
        policy = standing.spec.traffic_policy
    return {role: agent_endpoint(seen, exposure, role, port, str(where), policy)}


def agent_endpoint(
    seen: Seen, exposure: Exposure, role: str, port: ServicePort, url: str, policy: AgentPolicy | None = None
) -> AgentEndpoint:
    inside = role.startswith(INTERNAL)
    spec = AgentEndpointSpec(
        url=url,
        upstream=Upstream(url=service_url(seen, port)),
        traffic_policy=policy,
        description=exposure.description,
        metadata=from_annotation(exposure.metadata),
        bindings=("internal",) if inside else exposure.bindings or None,
    )
    return AgentEndpoint(metadata=_metadata(seen, role, spec, "" if inside else exposure.policy), spec=spec)


def cloud_endpoint(
    seen: Seen, exposure: Exposure, purpose: str, where: Place, forward: str, *, shares: Endpoint | None
) -> dict[str, Object]:
    role = f"{CLOUD}/{purpose}"
    standing = live(seen).get(child_name(seen.service, role))
    document = policy_document(seen, exposure, where, forward)
    policy: CloudPolicy | None = CloudPolicy(inline=document)
    shared = shares is not None
    if isinstance(standing, CloudEndpoint):
        shared = shared or standing.spec.pooling_enabled  # removing it would be refused while an endpoint is there
        policy = standing.spec.traffic_policy if document is None else policy
    elif document is None:
        return {}
    spec = CloudEndpointSpec(
        url=str(where),
        pooling_enabled=exposure.pooling or shared,
        traffic_policy=policy,
        description=exposure.description,
        metadata=from_annotation(exposure.metadata),
        bindings=exposure.bindings or None,
    )
    metadata = _metadata(seen, role, spec, exposure.policy)
    return {role: CloudEndpoint(metadata=msgspec.structs.replace(metadata, finalizers=(FINALIZER,)), spec=spec)}


def policy_document(seen: Seen, exposure: Exposure, where: Place, forward: str) -> dict[str, Any] | None:
    """The settings of the Service and its policy, composed; None while the policy is not known."""
    if seen.policy is not None and seen.policy.error:
        return None
    users = seen.policy.document if seen.policy is not None else None
    return composed(users, ranges=exposure.ranges, terminate=where.scheme == "tls", forward=forward)


def inner(seen: Seen, purpose: str, port: ServicePort) -> str:
    """Where only the edge finds the agents of a Service."""
    meta = seen.service.metadata
    return f"tcp://{digest(seen.options.cluster, seen.service.uid, purpose)}.{meta.namespace}.internal:{port.port}"


def service_url(seen: Seen, port: ServicePort) -> str:
    meta = seen.service.metadata
    return f"tcp://{meta.name}.{meta.namespace}.{seen.options.cluster_domain}:{port.port}"


def _metadata(seen: Seen, role: str, spec: msgspec.Struct, policy: str) -> ManagedMeta:
    meta = seen.service.metadata
    name = child_name(seen.service, role)
    standing = live(seen).get(name)
    notes = {MADE_FROM: digest(to_wire(spec))}
    if policy or (standing is not None and standing.annotation(FROM_POLICY)):
        notes[FROM_POLICY] = policy  # "" removes the former value
    labels = {CONTROLLER_NAME: OURS, CONTROLLER_NAMESPACE: seen.options.namespace}
    return ManagedMeta(name=name, namespace=meta.namespace, labels=labels, annotations=notes)
