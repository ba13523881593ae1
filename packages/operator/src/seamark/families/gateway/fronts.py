"""Before Envoys of this machine: a Service for each gateway, in its namespace, for others to bring traffic to.

- The Service has no Pods to select: its one endpoint is where the gateway's Envoy listens.
- The gateway's addresses are the Service's. Who gives it its address also says whether anybody is brought there.
- A gateway that names an address of its own is reached at that, and has no Service.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.api.gatewayinfra import FrontService, FrontServiceSpec, FrontSlice
from seamark.families.gateway.addresses import Lot
from seamark.families.gateway.gateways import ours
from seamark.families.gateway.infrastructure import (
    GATEWAY_NAME,
    GATEWAY_NAMESPACE,
    name_of,
    ports_of,
    reached,
    unreached,
)
from seamark_runtime.api.core import ServicePort
from seamark_runtime.api.discovery import SERVICE_NAME, Endpoint, EndpointConditions, EndpointPort
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key, ObjectMeta, OwnerReference
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Collection
from seamark_runtime.view import View

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"


@dataclass(frozen=True)
class Front:
    """What kind of Service is before a gateway."""

    type: str = "LoadBalancer"
    load_balancer_class: str = ""


@dataclass(frozen=True)
class Seen:
    """A gateway, where its Envoy listens, and the Service that was made for it."""

    key: Key
    gateway: Gateway | None  # None: it is gone, or not ours
    bound: Lot = field(default_factory=Lot)
    ports: tuple[int, ...] = ()
    service: FrontService | None = None

    @property
    def fronted(self) -> bool:
        """Whether it gets a Service: it has a place to listen at, and names none itself."""
        named = self.gateway is not None and any(claim.value for claim in self.gateway.spec.addresses or ())
        return self.gateway is not None and bool(self.bound.addresses) and not named


def observe(view: View, key: Key, controller_name: str, bounds: Collection[Lot]) -> Seen:
    gateway = ours(view, key, controller_name)
    if gateway is None:
        return Seen(key, None)
    bound = next(iter(view.reports(bounds, key).values()), Lot())
    service = view.get(FrontService, Key(key.namespace, name_of(key)))
    return Seen(key, gateway, bound, ports_of(view, gateway), service)


def desire(seen: Seen, front: Front) -> Wanted:
    if seen.gateway is None or not seen.fronted:
        return Wanted()
    return Wanted(children={"service": service(seen, seen.gateway, front), "endpoints": endpoints(seen, seen.gateway)})


def service(seen: Seen, gateway: Gateway, front: Front) -> FrontService:
    return FrontService(
        metadata=metadata(seen, gateway),
        spec=FrontServiceSpec(
            type=front.type,
            ports=tuple(ServicePort(name=f"p{port}", port=port, target_port=port) for port in seen.ports),
            load_balancer_class=front.load_balancer_class or None,
        ),
    )


def endpoints(seen: Seen, gateway: Gateway) -> FrontSlice:
    listening = Endpoint(addresses=seen.bound.addresses[:1], conditions=EndpointConditions(ready=True))
    labels = {SERVICE_NAME: name_of(seen.key), MANAGED_BY: "seamark"}
    return FrontSlice(
        metadata=metadata(seen, gateway, labels),
        address_type="IPv6" if ":" in seen.bound.addresses[0] else "IPv4",
        endpoints=(listening,),
        ports=tuple(EndpointPort(name=f"p{port}", port=port) for port in seen.ports),
    )


def metadata(seen: Seen, gateway: Gateway, labels: Mapping[str, str] | None = None) -> ObjectMeta:
    """Owned by the gateway, and labelled as the Gateway API wants what is made for one."""
    infrastructure = gateway.spec.infrastructure
    theirs = (infrastructure.labels if infrastructure is not None else None) or {}
    notes = (infrastructure.annotations if infrastructure is not None else None) or {}
    resource = gateway.RESOURCE
    owner = OwnerReference(
        api_version=resource.api_version, kind=resource.kind, name=seen.key.name, uid=gateway.uid, controller=True
    )
    return ObjectMeta(
        name=name_of(seen.key),
        namespace=seen.key.namespace,
        labels={**theirs, GATEWAY_NAME: seen.key.name, GATEWAY_NAMESPACE: seen.key.namespace, **(labels or {})},
        annotations=notes or None,
        owner_references=(owner,),
    )


def report(seen: Seen, answers: Answers) -> Mapping[Hashable, Any]:
    """Where the gateway is reached, and what prevents it."""
    if seen.gateway is None:
        return {}
    if not seen.fronted:
        return {seen.key: seen.bound}
    for role, refusal in answers.refusals.items():
        return {seen.key: Lot(trouble=("Invalid", f"Its {role} can't be made: {refusal.message}"))}
    return {seen.key: Lot(reached(seen.service), bind=seen.bound.addresses[:1], unreached=unreached(seen.service))}
