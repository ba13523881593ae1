"""Service → EndpointSlices, and Endpoints for older clients: the addresses of the Pods that it selects.

- Pods whose named ports resolve to different numbers are in different slices; a slice has at most 100 endpoints.
- A terminating Pod stays in its slice, not ready, while it serves.
- Slices of other managers, for Services without a selector, are never changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from seamark_cluster.controllers.workload.kinds import Endpoints, EndpointSlice, MadeMeta, Pod
from seamark_cluster.controllers.workload.ownership import Controlling
from seamark_cluster.controllers.workload.pods import short_hash
from seamark_cluster.controllers.workload.status import MANAGER as WRITER
from seamark_runtime.api.core import Service, ServicePort
from seamark_runtime.api.discovery import SERVICE_NAME, Endpoint, EndpointConditions, EndpointPort, TargetRef
from seamark_runtime.api.meta import Object, ObjectMeta, to_wire
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Reads, Wanted, Writes
from seamark_runtime.events import Notice
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"
MOST = 100
OLD = "endpoints"  # the role of the single Endpoints object
OLD_MANAGED_BY = "endpoints.kubernetes.io/managed-by"

Ports = tuple[EndpointPort, ...]


def _pairs(pod: Pod) -> Iterable[Hashable]:
    return ((pod.metadata.namespace, name, value) for name, value in (pod.metadata.labels or {}).items())


BY_LABEL = Index(Pod, _pairs, "Pods by label")


@dataclass(frozen=True)
class Seen:
    service: Service
    pods: tuple[Pod, ...]  # those that it selects and that have an address


def desire(seen: Seen) -> Wanted:
    grouped: dict[Ports, list[Endpoint]] = {}
    for pod in seen.pods:
        grouped.setdefault(ports(seen.service, pod), []).append(endpoint(seen.service, pod))
    parts = [
        (numbers, tuple(found[start : start + MOST]))
        for numbers, found in (grouped or {(): []}).items()
        for start in range(0, max(1, len(found)), MOST)
    ]
    children: dict[str, Object] = {}
    for place, (numbers, part) in enumerate(
        parts
    ):  # keyed by position, so that a slice is kept when its endpoints change
        endpoint_slice = slice_of(seen.service, numbers, part, place)
        children[endpoint_slice.metadata.name] = endpoint_slice
    return Wanted(children={**children, OLD: endpoints(seen.service, grouped)})


def slice_of(service: Service, numbers: Ports, found: tuple[Endpoint, ...], place: int) -> EndpointSlice:
    name = f"{service.metadata.name}-{short_hash(service.uid, place)}"
    labels = {**(service.metadata.labels or {}), SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}
    if service.spec is not None and service.spec.cluster_ip == "None":
        labels[HEADLESS] = ""
    return EndpointSlice(
        metadata=MadeMeta(
            name=name,
            namespace=service.metadata.namespace,
            generate_name=f"{service.metadata.name}-",
            labels=labels,
        ),
        address_type="IPv4",
        endpoints=found,
        ports=numbers,
    )


def endpoints(service: Service, grouped: Mapping[Ports, Iterable[Endpoint]]) -> Endpoints:
    subsets: list[dict[str, Any]] = []
    for numbers, found in grouped.items():
        subset: dict[str, Any] = {}
        for item in found:
            if item.conditions.terminating or ip_address(item.addresses[0]).is_loopback:
                continue  # the API server accepts no loopback address here, but does in slices
            place = "addresses" if item.conditions.ready else "notReadyAddresses"
            subset.setdefault(place, []).append(_address(item))
        if subset:
            subsets.append({**subset, "ports": [_port(number) for number in numbers]} if numbers else subset)
    labels = {**(service.metadata.labels or {}), OLD_MANAGED_BY: "endpoint-controller"}
    meta = ObjectMeta(name=service.metadata.name, namespace=service.metadata.namespace, labels=labels)
    return Endpoints(metadata=meta, subsets=tuple(subsets))


def _address(entry: Endpoint) -> dict[str, Any]:
    document = {"ip": entry.addresses[0], "hostname": entry.hostname, "nodeName": entry.node_name}
    return {**{name: value for name, value in document.items() if value}, "targetRef": to_wire(entry.target_ref)}


def _port(entry: EndpointPort) -> dict[str, Any]:
    name = {"name": entry.name} if entry.name else {}
    return {**name, "port": entry.port, "protocol": entry.protocol}


def ports(service: Service, pod: Pod) -> Ports:
    """The Service's ports as port numbers of this Pod; ports that the Pod does not have are left out."""
    found = []
    for port in (service.spec.ports if service.spec else None) or ():
        number = _number(port, pod)
        if number is not None:
            found.append(EndpointPort(name=port.name, port=number, protocol=port.protocol))
    return tuple(found)


def _number(port: ServicePort, pod: Pod) -> int | None:
    target = port.target_port
    if isinstance(target, int):
        return target or port.port
    if not target:
        return port.port
    containers: list[dict[str, Any]] = (pod.spec or {}).get("containers") or []
    for container in containers:
        for item in container.get("ports") or ():
            if item.get("name") == target and item.get("protocol", "TCP") == port.protocol:
                return int(item["containerPort"])
    return None


def endpoint(service: Service, pod: Pod) -> Endpoint:
    spec = pod.spec or {}
    always = service.spec is not None and service.spec.publish_not_ready_addresses
    serving = pod.ready or always
    named = spec.get("hostname") and spec.get("subdomain") == service.metadata.name
    target = TargetRef(kind="Pod", namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.uid)
    return Endpoint(
        addresses=(pod.status.pod_ip,),
        conditions=EndpointConditions(
            ready=always or (serving and not pod.deleting), serving=serving, terminating=pod.deleting
        ),
        hostname=spec["hostname"] if named else None,
        target_ref=target,
        node_name=spec.get("nodeName"),
    )


def announce(_seen: Seen, answers: Answers) -> Iterable[Notice]:
    for refusal in answers.refusals.values():
        yield Notice("FailedToUpdateEndpointSlices", f"Error updating Endpoint Slices: {refusal.message}")


def observe(view: View, service: Service, _results: Results) -> Seen | None:
    spec = service.spec
    if service.deleting or spec is None or not spec.selector or spec.type == "ExternalName":
        return None
    namespace, pairs = service.metadata.namespace, list(spec.selector.items())
    found = view.by(BY_LABEL, (namespace, *pairs[0]))
    selected = [pod for pod in found if all(pod.label(name) == value for name, value in pairs)]
    return Seen(service, tuple(pod for pod in selected if pod.status.pod_ip and not pod.finished))


def controller() -> Controller[Seen]:
    return Controller(
        name="endpointslices",
        kind=Service,
        observe=observe,
        desire=desire,
        judge=lambda _seen, _answers: None,
        announce=announce,
        status=NoStatus(),
        reads=Reads(kinds=(Pod,), indexes=(BY_LABEL,)),
        writes=Writes(children=(EndpointSlice, Endpoints), ownership=Controlling(), manager=WRITER),
    )
