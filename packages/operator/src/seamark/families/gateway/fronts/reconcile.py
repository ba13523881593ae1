"""A gateway → its Service, in its namespace, and where it is reached. Pure.

- The Service has no Pods to select: its one endpoint is the address at which the gateway's Envoy listens.
- The gateway's addresses are the Service's. The provider of its address also reports whether traffic reaches it.
- A gateway that names an address of its own is reached at that, and has no Service.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from seamark.api.gatewayinfra import FrontService, FrontServiceSpec, FrontSlice
from seamark.families.gateway.fronts.state import SLICE_MANAGED_BY, Seen
from seamark.families.gateway.model.addresses import (
    AddressAssignment,
    mapped_ports,
    service_addresses,
    service_unreached,
    with_foreign_ports,
)
from seamark.families.gateway.model.names import GATEWAY_NAME, GATEWAY_NAMESPACE, child_name
from seamark_runtime.api.core import ServicePort
from seamark_runtime.api.discovery import SERVICE_NAME, Endpoint, EndpointConditions, EndpointPort
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key, ObjectMeta, OwnerReference
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: Seen) -> Wanted:
    if seen.gateway is None or not seen.fronted:
        return Wanted()
    return Wanted(children={"service": service(seen, seen.gateway), "endpoints": endpoints(seen, seen.gateway)})


def service(seen: Seen, gateway: Gateway) -> FrontService:
    found = metadata(gateway)
    annotations = with_foreign_ports(found.annotations, seen.ports)
    return FrontService(
        metadata=msgspec.structs.replace(found, annotations=annotations),
        spec=FrontServiceSpec(
            type=seen.front.type,
            ports=tuple(ServicePort(name=f"p{port}", port=port, target_port=port) for port in seen.ports.all),
            load_balancer_class=seen.front.load_balancer_class or None,
        ),
    )


def endpoints(seen: Seen, gateway: Gateway) -> FrontSlice:
    listening = Endpoint(addresses=seen.local.addresses[:1], conditions=EndpointConditions(ready=True))
    labels = {SERVICE_NAME: child_name(seen.key), SLICE_MANAGED_BY: "seamark"}
    return FrontSlice(
        metadata=metadata(gateway, labels),
        address_type="IPv6" if ":" in seen.local.addresses[0] else "IPv4",
        endpoints=(listening,),
        ports=tuple(EndpointPort(name=f"p{port}", port=port) for port in seen.ports.all),
    )


def metadata(gateway: Gateway, labels: Mapping[str, str] | None = None) -> ObjectMeta:
    """Owned by the gateway, and labelled as the Gateway API wants what is made for one."""
    infrastructure, key, resource = gateway.spec.infrastructure, gateway.key, gateway.RESOURCE
    user_labels = (infrastructure.labels if infrastructure is not None else None) or {}
    annotations = (infrastructure.annotations if infrastructure is not None else None) or {}
    owner = OwnerReference(
        api_version=resource.api_version, kind=resource.kind, name=key.name, uid=gateway.uid, controller=True
    )
    return ObjectMeta(
        name=child_name(key),
        namespace=key.namespace,
        labels={**user_labels, GATEWAY_NAME: key.name, GATEWAY_NAMESPACE: key.namespace, **(labels or {})},
        annotations=annotations or None,
        owner_references=(owner,),
    )


def report(seen: Seen, answers: Answers) -> Mapping[Key, AddressAssignment]:
    """Where the gateway is reached, and what prevents it."""
    if seen.gateway is None:
        return {}
    if not seen.fronted:
        return {seen.key: seen.local}
    for role, refusal in answers.refusals.items():
        return {seen.key: AddressAssignment(problem=("Invalid", f"Its {role} can't be made: {refusal.message}"))}
    found, unreached = service_addresses(seen.service), service_unreached(seen.service)
    bind, mapped = seen.local.addresses[:1], mapped_ports(seen.service)
    return {seen.key: AddressAssignment(found, bind=bind, unreached=unreached, mapped=mapped)}
