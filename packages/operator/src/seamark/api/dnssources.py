"""Objects of other kinds that have names: the fields that DNS reads, and no field that it could write."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from seamark_runtime.api.gatewayroutes import GRPCRoute, HTTPRoute, Route, TCPRoute, TLSRoute
from seamark_runtime.api.gatewayshared import ParentReference
from seamark_runtime.api.meta import Object, Resource, Wire


class LoadBalancerIngress(Wire, frozen=True, kw_only=True):
    ip: str = ""
    hostname: str = ""


class LoadBalancer(Wire, frozen=True, kw_only=True):
    ingress: tuple[LoadBalancerIngress, ...] | None = None


class Balanced(Wire, frozen=True, kw_only=True):
    load_balancer: LoadBalancer = LoadBalancer()


class NamedServiceSpec(Wire, frozen=True, kw_only=True):
    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    external_ips: tuple[str, ...] | None = msgspec.field(default=None, name="externalIPs")
    external_name: str = ""


class NamedService(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Service", "services")

    spec: NamedServiceSpec = NamedServiceSpec()
    status: Balanced = Balanced()


class IngressRule(Wire, frozen=True, kw_only=True):
    host: str = ""


class IngressTls(Wire, frozen=True, kw_only=True):
    hosts: tuple[str, ...] | None = None


class NamedIngressSpec(Wire, frozen=True, kw_only=True):
    rules: tuple[IngressRule, ...] | None = None
    tls: tuple[IngressTls, ...] | None = None


class NodeAddress(Wire, frozen=True, kw_only=True):
    type: str = ""
    address: str = ""


class NodeSpec(Wire, frozen=True, kw_only=True):
    unschedulable: bool = False


class NodeStatus(Wire, frozen=True, kw_only=True):
    addresses: tuple[NodeAddress, ...] | None = None


class AddressedNode(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NamedIngress(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("networking.k8s.io", "v1", "Ingress", "ingresses")

    spec: NamedIngressSpec = NamedIngressSpec()
    status: Balanced = Balanced()


class NamedRouteSpec(Wire, frozen=True, kw_only=True):
    hostnames: tuple[str, ...] | None = None
    parent_refs: tuple[ParentReference, ...] | None = None


class NamedRoute(Route, frozen=True, kw_only=True):
    """What the routes of the Gateway API have in common."""

    spec: NamedRouteSpec = NamedRouteSpec()


class NamedHTTPRoute(NamedRoute, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = HTTPRoute.RESOURCE


class NamedGRPCRoute(NamedRoute, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = GRPCRoute.RESOURCE


class NamedTLSRoute(NamedRoute, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = TLSRoute.RESOURCE


class NamedTCPRoute(NamedRoute, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = TCPRoute.RESOURCE
