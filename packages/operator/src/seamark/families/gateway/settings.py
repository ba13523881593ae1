"""How the gateway family runs: `SEAMARK_GATEWAY_…` in the environment, or a file: `SEAMARK_GATEWAY_SETTINGS`."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Annotated

import msgspec
import structlog
from msgspec import Meta

from seamark.families.gateway.gatewayclass.features import SUPPORTED
from seamark.families.gateway.model.names import CLASS_NAME, CONTROLLER_NAME
from seamark.families.gateway.model.options import Cluster, Front, Options, PatternShares
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.directories import directory_of
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.envoy.remote import RemoteEnvoys, XdsListener
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.dataplane.protocol import DataPlane
from seamark_runtime.errors import UserError
from seamark_runtime.settings import load, replaces

log = structlog.get_logger(__name__)

CLUSTER = Cluster()
SHARES = PatternShares()
WITH_THE_OPERATOR = "none"


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose gateways are served, by what, and where."""

    gateway_controller_name: Annotated[str, Meta(description="The controllerName of our classes")] = CONTROLLER_NAME
    gateway_class: Annotated[str, Meta(description="The class that is ours by default")] = CLASS_NAME
    gateway_data_plane: Annotated[
        str,
        Meta(
            description="local (an Envoy per gateway, on this machine), cluster (as Pods) or memory",
            pattern="^(local|cluster|memory)$",
        ),
    ] = "local"
    gateway_addresses: Annotated[
        tuple[str, ...], Meta(description="Ranges that are local here: each gateway gets an address of them")
    ] = ("127.0.80.0/24",)
    gateway_addresses_share: Annotated[
        int, Meta(description="How many of these the gateways of one namespace may have; 0 is no limit", ge=0)
    ] = 64
    gateway_foreign_ports: Annotated[
        int,
        Meta(description="How many ports ListenerSets of another namespace may add; 0 is no limit", ge=0),
    ] = 16
    gateway_patterns_foreign: Annotated[
        int,
        Meta(
            description="What the regular expressions of one namespace's routes may take to compile at a gateway of "
            "another one, in instructions for each host name; 0 is no limit",
            ge=0,
        ),
    ] = SHARES.foreign
    gateway_patterns_own: Annotated[
        int, Meta(description="The same at the gateways of the namespace itself; 0 is no limit", ge=0)
    ] = SHARES.own
    gateway_envoy: Annotated[str, Meta(description="Envoy's program; empty for the one in the user's cache")] = ""
    gateway_state: Annotated[
        str,
        Meta(
            description="The directory of local Envoys, which outlive seamark run and are adopted by the next one; "
            "empty for one in the user's state directory; none: they end with the operator"
        ),
    ] = ""
    gateway_answer_within: Annotated[float, Meta(description="Seconds that the data plane may take", gt=0)] = 10.0
    gateway_verify: Annotated[
        float, Meta(description="Seconds between two probes of a gateway; their evidence is valid for three", gt=0)
    ] = 5.0
    gateway_namespace: Annotated[
        str, Meta(description="Where the Pods of Envoys are: the operator's own namespace")
    ] = CLUSTER.namespace
    gateway_image: Annotated[str, Meta(description="The image of these Pods")] = CLUSTER.image
    gateway_workload: Annotated[
        str, Meta(description="Deployment or DaemonSet", pattern="^(Deployment|DaemonSet)$")
    ] = CLUSTER.workload
    gateway_xds_listen: Annotated[str, Meta(description="Where Envoys are configured from")] = "[::]:9977"
    gateway_xds_address: Annotated[str, Meta(description="How Envoys reach that")] = CLUSTER.xds
    gateway_xds_certificates: Annotated[
        str, Meta(description="A directory with tls.crt and tls.key of that, and the ca.crt of the Envoys")
    ] = "/etc/seamark/xds"
    gateway_xds_authority: Annotated[
        str,
        Meta(description="The Secret with the ca.crt and ca.key that sign a certificate for each Gateway's Envoys"),
        replaces("gateway_xds_client_secret"),
    ] = CLUSTER.authority
    gateway_service_type: Annotated[
        str,
        Meta(
            description="The Service before the Envoys: LoadBalancer, NodePort or ClusterIP",
            pattern="^(LoadBalancer|NodePort|ClusterIP)$",
        ),
    ] = CLUSTER.service_type
    gateway_load_balancer_class: Annotated[str, Meta(description="Its loadBalancerClass; empty for the default")] = ""
    gateway_front: Annotated[
        str,
        Meta(
            description="Of the local data plane: a Service of this type before each gateway, in its namespace, with "
            "that class; empty for none",
            pattern="^(LoadBalancer|NodePort|ClusterIP|)$",
        ),
    ] = ""


def loaded() -> GatewaySettings:
    return load(GatewaySettings, file=os.environ.get("SEAMARK_GATEWAY_SETTINGS", ""), environment=os.environ, flags={})


def options_of(settings: GatewaySettings) -> Options:
    for text in settings.gateway_addresses:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise UserError(f"gateway_addresses: {error}", hint="as in 127.0.80.0/24") from None
    return Options(
        controller_name=settings.gateway_controller_name,
        class_name=settings.gateway_class,
        addresses=settings.gateway_addresses,
        addresses_share=settings.gateway_addresses_share,
        foreign_ports=settings.gateway_foreign_ports,
        patterns=PatternShares(settings.gateway_patterns_foreign, settings.gateway_patterns_own),
        answer_within=settings.gateway_answer_within,
        verify=settings.gateway_verify,
        features=SUPPORTED,
        cluster=cluster_of(settings) if settings.gateway_data_plane == "cluster" else None,
        former_namespace=settings.gateway_namespace if settings.gateway_data_plane == "local" else "",
        front=front_of(settings),
    )


def front_of(settings: GatewaySettings) -> Front | None:
    if not settings.gateway_front:
        return None
    if settings.gateway_data_plane == "cluster":
        hint = "gateway_service_type is the one for Envoys on the cluster"
        raise UserError("gateway_front is for Envoys of this machine", hint=hint)
    return Front(settings.gateway_front, settings.gateway_load_balancer_class)


def cluster_of(settings: GatewaySettings) -> Cluster:
    _, colon, port = settings.gateway_xds_address.rpartition(":")
    if not colon or not port.isdigit():
        raise UserError(f"gateway_xds_address: {settings.gateway_xds_address} has no port", hint=f"as in {CLUSTER.xds}")
    return Cluster(
        namespace=settings.gateway_namespace,
        image=settings.gateway_image,
        workload=settings.gateway_workload,
        xds=settings.gateway_xds_address,
        authority=settings.gateway_xds_authority,
        service_type=settings.gateway_service_type,
        load_balancer_class=settings.gateway_load_balancer_class,
    )


def data_plane(settings: GatewaySettings, installation: str = "") -> DataPlane:
    """`installation` tells operators of different clusters and Leases apart; without one, local Envoys outlive the
    operator only in a directory that is set."""
    if settings.gateway_data_plane == "memory":
        return MemoryDataPlane()
    if settings.gateway_data_plane == "cluster":
        return RemoteEnvoys(XdsListener(settings.gateway_xds_listen, Path(settings.gateway_xds_certificates)))
    return LocalEnvoys(binary.find(settings.gateway_envoy), state_directory(settings, installation))


def state_directory(settings: GatewaySettings, installation: str = "") -> Path | None:
    """Where Envoys outlive the operator; None: they end with it."""
    if settings.gateway_state == WITH_THE_OPERATOR:
        return None
    if settings.gateway_state:
        return Path(settings.gateway_state).expanduser().absolute()
    if not installation or not hasattr(os, "pidfd_open"):  # where no process of another one can be adopted
        return None
    found = directory_of(installation, os.environ)
    if found is None:
        log.warning("no directory for Envoys can be used: they end with the operator; set gateway_state to one")
    return found
