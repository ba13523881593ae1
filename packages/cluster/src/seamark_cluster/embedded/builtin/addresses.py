"""Cluster IPs and node ports for Services, allocated as by the API server but deterministically."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from seamark_cluster.embedded.machinery.errors import Json, invalid, invalid_object
from seamark_cluster.embedded.machinery.revisions import Revisions

NODE_PORTS = range(30000, 32768)


class Addresses:
    """Allocates a Service's addresses and ports.

    The allocated ones are those of the stored Services, so an address is free again as soon as its Service is deleted.
    """

    def __init__(self, revisions: Revisions, network: str) -> None:
        self._revisions = revisions
        self._network = ipaddress.IPv4Network(network)

    def assign(self, new: Json, old: Json | None) -> None:
        spec = new["spec"]
        if spec["type"] == "ExternalName":
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                spec.pop(field, None)
            return
        if old is not None and old["spec"]["type"] != "ExternalName":
            # Allocated at creation only: an object without an address (created through its status) gets none.
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if field in old["spec"]:
                    spec.setdefault(field, old["spec"][field])
        elif not spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIP"] = self._free_address()
        else:
            spec["clusterIP"] = spec.get("clusterIP") or spec["clusterIPs"][0]
            self._check_address(new["metadata"]["name"], spec["clusterIP"])
        if spec.get("clusterIP"):
            spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        self._assign_ports(spec, old)

    def _check_address(self, name: str, address: str) -> None:
        if address == "None":
            return
        why = ""
        if ipaddress.ip_address(address) not in self._network:
            why = "the provided network does not match the current range"
        elif any(address == spec.get("clusterIP") for spec in self._services()):
            why = "provided IP is already allocated"
        if why:
            error = invalid("spec.clusterIPs", [address], f"failed to allocate IP {address}: {why}")
            raise invalid_object("", "Service", name, [error])

    def _assign_ports(self, spec: Json, old: Json | None) -> None:
        wanted = spec["type"] == "NodePort" or (
            spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
        )
        before = {(port["port"], port["protocol"]): port for port in (old or {"spec": {}})["spec"].get("ports") or ()}
        for port in spec.get("ports") or ():
            known = before.get((port["port"], port["protocol"]), {}).get("nodePort")
            if not wanted:
                if port.get("nodePort") == known:
                    port.pop("nodePort", None)
            elif not port.get("nodePort"):
                port["nodePort"] = known or self._free_port(spec)

    def _services(self) -> Iterator[Json]:
        for _, service in self._revisions.objects("services"):
            yield service["spec"]

    def _free_address(self) -> str:
        taken = {spec.get("clusterIP") for spec in self._services()}
        for address in self._network.hosts():
            if str(address) not in taken and not str(address).endswith(".0.1"):
                return str(address)
        raise ValueError("the service network is full")

    def _free_port(self, spec: Json) -> int:
        taken = {port.get("nodePort") for other in (*self._services(), spec) for port in other.get("ports") or ()}
        return next(port for port in NODE_PORTS if port not in taken)
