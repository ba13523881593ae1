"""Everything that takes part: control plane, name server, edge, agent, forwarder, Envoys, operator, and two tenants.

All of Seamark runs as processes of its own by its commands, in a closed network without Pods: what tenants' Services
lead to are two small servers on this machine.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from seamark.cli.families import FAMILIES
from seamark.families.score.platform.configuration import KEY as SCORE_CONFIG
from seamark_cluster.network.closed import NODE, OUTSIDE, ClosedNetwork
from seamark_cluster.real.plane import ControlPlane, Options
from seamark_cluster.real.users import User, kubeconfig, write_private
from seamark_edge.dataplane.envoy import binary
from seamark_runtime.api.crd import manifests
from tests.cluster.loadbalancer_world import AGENT
from tests.cluster.requests import eventually, request
from tests.dns.servers import Bind
from tests.edge.running import RunningEdge
from tests.hostile.known_names import CANARY, CANARY_HOST, HOSTILE, ZONE
from tests.hostile.programs import Program, python, rss_mb, scraped
from tests.hostile.tenants import (
    CLUSTER_IPS,
    NAMESPACES,
    Json,
    Markers,
    Tls,
    canary_objects,
    canary_secrets,
    furniture,
    markers,
    rights,
    tls,
)
from tests.soak.world import FORWARDER, HOME, INSTALLATION, OPERATOR, settings

HEALTH, RESOLVER = "127.0.0.1:9080", "127.0.0.1:9053"
AGENT_HEALTH, FORWARDER_HEALTH, CONSOLE_HEALTH = "127.0.0.1:9081", "127.0.0.1:9082", "127.0.0.1:9083"
CONSOLE, EVIDENCE = "127.0.0.1:9085", "127.0.0.1:9086"
BACKENDS = {HOSTILE: 3001, CANARY: 3002}
EXCLUDED = f"xn--bcher-kva.{ZONE}"  # a name that the installation does not serve, in any spelling
SOURCES = "crd,service,ingress,gateway,httproute,grpcroute,tlsroute,tcproute"
TYPES = "A,AAAA,CNAME,TXT,MX,SRV,NS,PTR,NAPTR"


@dataclass
class World:
    plane: ControlPlane
    edge: RunningEdge
    names: Bind
    operator: Program
    programs: tuple[Program, ...]  # all that are ours to start again, the operator first
    own: Tls
    markers: Markers
    folder: Path

    @property
    def ended(self) -> list[Program]:
        return [program for program in self.programs if program.ended]

    @property
    def rss_mb(self) -> float:
        return sum(program.rss_mb for program in self.programs)

    def ready(self) -> bool:
        return "seamark_leader 1.0" in scraped(HEALTH)

    def wait_ready(self, seconds: float = 60) -> bool:
        """Whether the operator leads again in time."""
        try:
            eventually(lambda: self.ready() or self.operator.ended, "the operator leads", seconds)
        except AssertionError:
            return False
        return not self.operator.ended


class EdgeProgram(Program):
    """The edge, which has a way of its own to start."""

    def __init__(self, edge: RunningEdge) -> None:
        super().__init__("edge", [], {}, edge.state / "log", f"{edge.host}:{edge.ports['ops_port']}")
        self._edge = edge

    def start(self) -> None:
        self._edge.start()

    @property
    def ended(self) -> bool:
        return self._edge.process.poll() is not None

    @property
    def rss_mb(self) -> float:
        return rss_mb(self._edge.process.pid)

    def stop(self) -> None:
        """`RunningEdge.close` does."""


@contextmanager
def world(folder: Path) -> Iterator[World]:
    binary.install()  # while there is a way out
    kinds = [one for family in FAMILIES.values() for one in family.published()]
    with ExitStack() as stack:
        network = stack.enter_context(ClosedNetwork())
        users = tuple(User(name) for name in NAMESPACES)
        plane = stack.enter_context(ControlPlane(Options(users=users, bind_address=network.node)))
        edge = RunningEdge(folder / "edge", bind=NODE, public_host=NODE, tls_port=443, lease_seconds=1)
        stack.callback(edge.close)
        names = Bind(folder / "bind")
        stack.callback(names.close)
        given = environment(edge, names)
        install(plane, kinds, given)
        programs = (operator(plane, given, folder), *beside(plane, edge, given, folder), EdgeProgram(edge))
        servers = Program("backends", backends(), {}, folder / "backends.log")
        servers.start()
        stack.callback(servers.stop)
        own, secret = tls(folder / "own", "*.hostile.example.com"), tls(folder / "canary", CANARY_HOST)
        there = World(plane, edge, names, programs[0], programs, own, markers(secret), folder)
        furnish(there, secret)
        for program in programs[:-1]:
            program.start()
            stack.callback(program.stop)
        wait_until_up(there)
        yield there


def environment(edge: RunningEdge, names: Bind) -> dict[str, str]:
    """All families, all sources of names, all record types that the name server takes."""
    more = {
        "HEALTH_ADDRESS": HEALTH,
        "EVIDENCE": EVIDENCE,
        "DNS_SOURCES": SOURCES,
        "DNS_OBJECTS": "true",
        "DNS_MANAGED_RECORD_TYPES": TYPES,
        "DNS_EXCLUDE_DOMAINS": EXCLUDED,
        "GATEWAY_ADDRESSES": OUTSIDE,
    }
    return {**settings(edge, names), **{f"SEAMARK_{name}": value for name, value in more.items()}}


def install(plane: ControlPlane, kinds: list[Json], given: dict[str, str]) -> None:
    for name in (HOME, SCORE_CONFIG.namespace, *NAMESPACES):
        made = request(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert made.code == 201, made.body
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(kinds))
    plane.kubectl("apply", "-f", "-", stdin=manifests([crd for family in FAMILIES.values() for crd in family.crds]))
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    plane.restart_controllers()
    roles = subprocess.run(python(OPERATOR, "roles"), env=given, capture_output=True, text=True, check=True).stdout
    plane.kubectl("apply", "-f", "-", stdin=roles)
    for namespace in NAMESPACES:
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(rights(namespace)))


def operator(plane: ControlPlane, given: dict[str, str], folder: Path) -> Program:
    path = f"/api/v1/namespaces/{HOME}/serviceaccounts/seamark/token"
    made = request(plane, "POST", path, {"spec": {"expirationSeconds": 86400}})
    assert made.code == 201, made.body
    config = folder / "operator.kubeconfig"
    account = User("seamark", token=made.body["status"]["token"])
    write_private(config, kubeconfig(plane.url, plane.ca, [account]))
    variables = {**given, "SEAMARK_KUBECONFIG": str(config)}
    return Program("operator", python(OPERATOR, "run"), variables, folder / "operator.log", HEALTH)


def beside(plane: ControlPlane, edge: RunningEdge, given: dict[str, str], folder: Path) -> tuple[Program, ...]:
    follow = ["--server", edge.address, "--ca", edge.ca, "--cluster", "--kubeconfig", str(plane.kubeconfig)]
    agent = python(AGENT, *follow, "--resolver", RESOLVER, "--health-address", AGENT_HEALTH)
    page = ["--address", CONSOLE, "--operators", EVIDENCE, "--health-address", CONSOLE_HEALTH]
    console = python(OPERATOR, "console", *page, "--kubeconfig", str(plane.kubeconfig))
    forwarder = python(FORWARDER, f"--kubeconfig={plane.kubeconfig}")
    variables = {**given, "SEAMARK_HEALTH_ADDRESS": FORWARDER_HEALTH, "SEAMARK_FORWARDER_SECRET_READS": "1"}
    return (
        Program("agent", agent, {"SEAMARK_AGENT_TOKEN": edge.token}, folder / "agent.log", AGENT_HEALTH),
        Program("forwarder", forwarder, variables, folder / "forwarder.log", FORWARDER_HEALTH),
        Program("console", console, {}, folder / "console.log", CONSOLE_HEALTH),
    )


def backends() -> list[str]:
    places = [f"{NODE}:{port}:{namespace}" for namespace, port in BACKENDS.items()]
    places += [f"{address}:80:{namespace}" for namespace, address in CLUSTER_IPS.items()]
    names = [f"web.{namespace}.svc.cluster.local={address}" for namespace, address in CLUSTER_IPS.items()]
    return [sys.executable, "-m", "tests.hostile.backend", f"{RESOLVER}={','.join(names)}", *places]


def furnish(there: World, secret: Tls) -> None:
    plane = there.plane
    plane.kubectl("apply", "-n", HOME, "-f", "-", stdin=yaml.safe_dump_all(INSTALLATION))
    hostile = furniture(there.own, NODE, BACKENDS[HOSTILE])
    plane.kubectl("apply", "-n", HOSTILE, "-f", "-", stdin=yaml.safe_dump_all(hostile))
    canary = [*canary_secrets(secret, there.markers), *canary_objects(there.markers, NODE, BACKENDS[CANARY])]
    plane.kubectl("apply", "-n", CANARY, "-f", "-", stdin=yaml.safe_dump_all(canary))


def wait_until_up(there: World, seconds: float = 120) -> None:
    def up() -> bool:
        assert not there.ended, there.ended[0].log.read_text()[-2000:]
        found = [gateway(there, namespace, name) for namespace, name in fronts(there)]
        return there.ready() and all(programmed(one) for one in found)

    eventually(up, "the gateways of both tenants are programmed", seconds)


def fronts(there: World) -> tuple[tuple[str, str], tuple[str, str]]:
    return (HOSTILE, "front"), (CANARY, f"front-{there.markers.private}")


def gateway(there: World, namespace: str, name: str) -> Json:
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/gateways/{name}"
    return request(there.plane, "GET", path).body


def programmed(found: Json) -> bool:
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Programmed" and one["status"] == "True" for one in conditions)


def address(found: Json) -> str:
    addresses = (found.get("status") or {}).get("addresses") or ()
    return str(addresses[0]["value"]) if addresses else ""
