"""What runs beside the operator: a name server, the edge, Envoy. A part that can't run here is reported and left out.

The families are configured by their settings: environment variables of this process, unless they are already set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seamark_cluster.commands.dev.examples import EDGE, ENVOY, NAMES
from seamark_cluster.commands.dev.programs import manifests
from seamark_cluster.network.lanes import GatewayRange, claim_gateways
from seamark_cluster.real.ports import free
from seamark_edge.dataplane.envoy import binary
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.process.server import Edge
from seamark_runtime.errors import UserError

HOST = "127.0.0.1"
ZONE = "example.test"
NAME_PORTS = range(10053, 10153)
EDGE_PORTS = {"agent_port": range(4443, 4543), "api_port": range(4040, 4140), "ingress_port": range(4600, 4700)}
FIRST_PUBLIC, FIRST_BOUND, EACH = 20000, 26000, 100  # ports: each further edge on this machine uses the next hundred
DNS_ADDRESS, DNS_ZONES = "SEAMARK_DNS_MEMORY_ADDRESS", "SEAMARK_DNS_ZONES"
GATEWAY_ADDRESSES = "SEAMARK_GATEWAY_ADDRESSES"


def first_free(host: str, ports: range) -> int:
    """0 if none is free."""
    return next((port for port in ports if free(host, port)), 0)


class Parts:
    """`have` are the parts that run; `names` is the address of the name server, empty without one."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.have: set[str] = set()
        self.names = ""
        self._warn = warn
        self._edge: Edge | None = None
        self._gateways: GatewayRange | None = None
        self._number = 0

    def serve_names(self) -> None:
        """Makes the DNS family serve a zone of its own, unless it is configured otherwise."""
        set_variables({"SEAMARK_SCORE_POD_NETWORK": "reachable"})  # Pods run on this machine
        if "SEAMARK_DNS_SETTINGS" in os.environ or "SEAMARK_DNS_PROVIDER" in os.environ:
            self.names = os.environ.get("SEAMARK_SCORE_RESOLVER", "")
            self.have |= {NAMES} if self.names else set()
            return
        set_variables({"SEAMARK_DNS_PROVIDER": "memory"})
        port = first_free(HOST, NAME_PORTS)
        self.names = os.environ.get(DNS_ADDRESS, "") or (f"{HOST}:{port}" if port else "")
        if not self.names:
            self._warn(f"no port of {NAME_PORTS[0]} to {NAME_PORTS[-1]} is free: no name server")
            return
        self._report_port("the name server", int(self.names.rpartition(":")[2]), NAME_PORTS)
        self.have.add(NAMES)
        set_variables(
            {
                DNS_ADDRESS: self.names,
                DNS_ZONES: ZONE,
                "SEAMARK_DNS_SOURCES": "crd,httproute",
                "SEAMARK_DNS_OBJECTS": "true",
                "SEAMARK_DNS_POLL": "2",
                "SEAMARK_SCORE_DOMAIN": ZONE,
                "SEAMARK_SCORE_RESOLVER": self.names,
                "SEAMARK_SCORE_PROBE_EVERY": "2",
                "SEAMARK_SCORE_LOOKUP_EVERY": "2",
            }
        )

    def look_for_envoy(self) -> None:
        configured = os.environ.get("SEAMARK_GATEWAY_ENVOY", "")
        try:
            trouble = binary.trouble(binary.find(configured))
        except UserError as error:
            trouble = error.message
        if trouble:
            self._warn(f"no gateways: {trouble}")
            return
        self.have.add(ENVOY)
        if GATEWAY_ADDRESSES not in os.environ:
            self._gateways = claim_gateways()
            set_variables({GATEWAY_ADDRESSES: self._gateways.addresses})

    async def start_edge(self, node: str, folder: Path) -> None:
        """Runs an edge in this process and sets the settings that refer to it."""
        try:
            settings = self._edge_settings(node, folder)
            edge = Edge(settings)
            await edge.start()
        except (UserError, OSError) as error:
            self._warn(f"no edge: {error}")
            return
        self._edge = edge
        self.have.add(EDGE)
        set_variables(edge_settings_of_families(settings, self._number))

    def _edge_settings(self, node: str, folder: Path) -> EdgeSettings:
        ports = {name: first_free(node, candidates) for name, candidates in EDGE_PORTS.items()}
        for name, port in ports.items():
            candidates = EDGE_PORTS[name]
            if not port:
                raise UserError(f"no port of {candidates[0]} to {candidates[-1]} is free")
            self._report_port(f"the edge's {name.replace('_', ' ')}", port, candidates)
        self._number = ports["api_port"] - EDGE_PORTS["api_port"][0]
        return EdgeSettings(
            state=f"{folder}/edge/",
            bind=node,
            public_host=node,
            tcp_ports=port_range(FIRST_PUBLIC, self._number),
            drain_seconds=0.0,
            log_level="error",
            agent_port=ports["agent_port"],
            api_port=ports["api_port"],
            ingress_port=ports["ingress_port"],
        )

    def _report_port(self, what: str, port: int, wanted: range) -> None:
        if port in wanted and port != wanted[0]:
            self._warn(f"port {wanted[0]} is in use: {what} is {port}")

    def programs(self, kubeconfig: Path, cluster_names: str, node: str) -> list[dict[str, Any]]:
        """The agent and the forwarder, for the cluster of the kubeconfig."""
        if self._edge is None:
            return []
        settings = self._edge.settings
        authority, token = settings.directory / "ca.pem", settings.directory / "agent-token"
        agent = {
            "SEAMARK_AGENT_SERVER": f"{settings.public_host}:{settings.agent_port}",
            "SEAMARK_AGENT_CA": str(authority),
            "SEAMARK_AGENT_TOKEN_FILE": str(token),
            "SEAMARK_AGENT_CLUSTER": "true",
            "SEAMARK_AGENT_KUBECONFIG": str(kubeconfig),
            "SEAMARK_AGENT_RESOLVER": cluster_names,
            "SEAMARK_AGENT_LOG_LEVEL": "warning",
        }
        forwarder = {
            "SEAMARK_KUBECONFIG": str(kubeconfig),
            "SEAMARK_BINDINGS_EDGE_CA": str(authority),
            "SEAMARK_FORWARDER_BIND": node,
            "SEAMARK_FORWARDER_SECRET_READS": "1",
            "SEAMARK_HEALTH_ADDRESS": "",
            "SEAMARK_LOG_LEVEL": "warning",
        }
        return manifests(agent, forwarder)

    async def close(self) -> None:
        if self._edge is not None:
            await self._edge.stop()
            self._edge = None
        if self._gateways is not None:
            self._gateways.close()


def edge_settings_of_families(settings: EdgeSettings, number: int) -> dict[str, str]:
    api, key = f"http://{settings.public_host}:{settings.api_port}", settings.directory / "api-key"
    return {
        "SEAMARK_LB_API_URL": api,
        "SEAMARK_LB_API_KEY_FILE": str(key),
        "SEAMARK_LB_POLL": "1",
        "SEAMARK_BINDINGS_EDGE": "seamark",
        "SEAMARK_BINDINGS_EDGE_URL": api,
        "SEAMARK_BINDINGS_EDGE_KEY_FILE": str(key),
        "SEAMARK_BINDINGS_EDGE_CA": str(settings.directory / "ca.pem"),
        "SEAMARK_BINDINGS_PORTS": port_range(FIRST_BOUND, number),
        "SEAMARK_BINDINGS_POLL": "1",
        "SEAMARK_BINDINGS_PROBE_EVERY": "3",
        "SEAMARK_GATEWAY_FRONT": "LoadBalancer",
        "SEAMARK_GATEWAY_LOAD_BALANCER_CLASS": "ngrok",
        "SEAMARK_GATEWAY_VERIFY": "5",
        "SEAMARK_GATEWAY_STATE": "none",
    }


def port_range(first: int, number: int) -> str:
    return f"{first + EACH * number % 6000}-{first + EACH * number % 6000 + EACH - 1}"


def set_variables(variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        os.environ.setdefault(name, value)
