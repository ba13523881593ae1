"""Everything that takes part: control plane, node, name server, edge, agents, forwarder, Envoys, and the operator.

The operator is a process of its own, under the account and roles that `seamark roles` prints, and reaches the API
server through a relay that can be cut. All of it is in a closed network.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seamark.cli.families import FAMILIES
from seamark.cli.roles import account, family_role, leader_role
from seamark.families.score.platform.configuration import KEY as CONFIG
from seamark_cluster.network.closed import NODE, OUTSIDE
from seamark_cluster.real.users import User, kubeconfig, write_private
from seamark_edge.dataplane.envoy import binary
from seamark_runtime.api.crd import manifests
from tests.bench.host import MB, PAGE
from tests.cluster.kubelet_machine import Machine, a_pod, echo_deployment, processes, running_machine
from tests.cluster.loadbalancer_world import agent_container
from tests.cluster.requests import eventually, request
from tests.dns.servers import KEY, ZONE, Bind
from tests.edge.running import RunningEdge
from tests.soak.relay import Relay

HOME, SPACE = "seamark-system", "soak"
OPERATOR = "from seamark.cli.main import main; main()"
FORWARDER = "from seamark.cli.forwarder import app; app()"
USER = f"system:serviceaccount:{HOME}:seamark"
SHELF_LIFE = 15.0  # seconds that evidence keeps here, for all families


@dataclass
class World:
    machine: Machine
    edge: RunningEdge
    names: Bind
    relay: Relay
    operator: subprocess.Popen[bytes]
    log: Path

    @property
    def rss_mb(self) -> float:
        return int(Path(f"/proc/{self.operator.pid}/statm").read_text().split()[1]) * PAGE / MB

    def get(self, path: str) -> dict[str, Any] | None:
        """The answer; None when the API server has none, or there is nothing."""
        try:
            answer = request(self.machine.plane, "GET", path)
        except (OSError, ValueError):
            return None
        return answer.body if answer.code == 200 else None

    def envoys(self) -> list[int]:
        """The operator's own: others may run on this machine, too."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    if parent == self.operator.pid and b"--disable-hot-restart" in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def programs(self, words: str) -> list[int]:
        """Processes of Pods here that run this."""
        ours = set(processes(str(self.machine.plane.kubeconfig)))
        return sorted(ours & set(processes(words)))

    def kill(self, pids: list[int]) -> None:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@contextmanager
def world(folder: Path) -> Iterator[World]:
    binary.install()  # while there is a way out
    kinds = [one for family in FAMILIES.values() for one in family.published()]
    with running_machine("--backoff=2") as machine, ExitStack() as stack:
        edge = RunningEdge(folder / "edge", bind=NODE, public_host=NODE, tls_port=443, lease_seconds=1)
        stack.callback(edge.close)
        names = Bind(folder / "bind")
        stack.callback(names.close)
        relay = Relay(machine.plane.url)
        stack.callback(relay.close)
        for name in (HOME, SPACE, CONFIG.namespace):
            machine.namespace(name)
        install(machine, kinds)
        operator = operate(machine, edge, names, relay, folder)
        stack.callback(stop, operator)
        people(machine, edge)
        yield World(machine, edge, names, relay, operator, folder / "operator.log")


def install(machine: Machine, kinds: list[dict[str, Any]]) -> None:
    plane = machine.plane
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(kinds))
    plane.kubectl("apply", "-f", "-", stdin=manifests([crd for family in FAMILIES.values() for crd in family.crds]))
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    plane.restart_controllers()
    roles = [one for family in FAMILIES.values() for one in family_role(family, HOME)]
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([account(HOME), *roles, *leader_role(HOME)]))


def operate(machine: Machine, edge: RunningEdge, names: Bind, relay: Relay, folder: Path) -> subprocess.Popen[bytes]:
    path = f"/api/v1/namespaces/{HOME}/serviceaccounts/seamark/token"
    made = request(machine.plane, "POST", path, {"spec": {"expirationSeconds": 86400}})
    assert made.code == 201, made.body
    config = folder / "operator.kubeconfig"
    write_private(
        config, kubeconfig(relay.url, machine.plane.ca, [User("seamark", token=made.body["status"]["token"])])
    )
    environment = {**os.environ, **settings(edge, names), "SEAMARK_KUBECONFIG": str(config)}
    with (folder / "operator.log").open("wb") as out:
        return subprocess.Popen([sys.executable, "-c", OPERATOR, "run"], stdout=out, stderr=out, env=environment)


def settings(edge: RunningEdge, names: Bind) -> dict[str, str]:
    given = {
        "families": ",".join(FAMILIES),
        "health_address": "",
        "lb_api_url": edge.api_url,
        "lb_api_key": edge.api_key,
        "lb_poll": 1,
        "lb_verify": 5,
        "lb_shelf_life": SHELF_LIFE,
        "bindings_edge": "seamark",
        "bindings_edge_url": edge.api_url,
        "bindings_edge_key": edge.api_key,
        "bindings_edge_ca": edge.ca,
        "bindings_poll": 1,
        "bindings_probe_every": 3,
        "bindings_probe_limit": 5,
        "bindings_shelf_life": SHELF_LIFE,
        "dns_provider": "rfc2136",
        "dns_server": f"127.0.0.1:{names.port}",
        "dns_zones": ZONE,
        "dns_tsig_name": KEY.name,
        "dns_tsig_secret": KEY.secret,
        "dns_poll": 3,
        "dns_shelf_life": SHELF_LIFE,
        "gateway_addresses": OUTSIDE,
        "gateway_verify": 5,
        "gateway_state": "none",
    }
    return {f"SEAMARK_{name.upper()}": str(value) for name, value in given.items()}


def stop(operator: subprocess.Popen[bytes]) -> None:
    operator.terminate()
    try:
        operator.wait(20)
    except subprocess.TimeoutExpired:
        operator.kill()
        operator.wait()


def people(machine: Machine, edge: RunningEdge) -> None:
    """What is there all the time: something that answers, agents, a forwarder, a gateway, an installation."""
    machine.apply(
        *echo_deployment("echo", 1), deployment("agent", agent_container(machine, edge, SPACE), 2), namespace=SPACE
    )
    forwarder = {
        "command": [sys.executable, "-c", FORWARDER, f"--kubeconfig={machine.plane.kubeconfig}"],
        "env": [
            {"name": "PYTHONPATH", "value": os.environ.get("PYTHONPATH", "")},
            {"name": "SEAMARK_HEALTH_ADDRESS", "value": ""},
            {"name": "SEAMARK_FORWARDER_SECRET_READS", "value": "1"},
        ],
    }
    labels = {"app.kubernetes.io/component": "bindings-forwarder"}
    machine.apply(deployment("forwarder", forwarder, 1, labels), *INSTALLATION, namespace=HOME)
    machine.apply(*GATEWAY, *INSIDE, namespace=SPACE)


def deployment(
    name: str, container: dict[str, Any], replicas: int, labels: dict[str, str] | None = None
) -> dict[str, Any]:
    pod = a_pod(name, container)
    labels = {"app": name, **(labels or {})}
    template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


INSTALLATION = (
    {
        "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
        "kind": "KubernetesOperator",
        "metadata": {"name": "seamark"},
        "spec": {"binding": {"endpointSelectors": ["true"]}, "drain": {"policy": "Delete"}},
    },
)
GATEWAY = (
    {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "gateway"},
        "spec": {
            "gatewayClassName": "kgateway",
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    },
)
PLACE = "tcp://echo.internal:7"
INSIDE = (  # what endpoints that are bound into the cluster lead to
    {
        "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
        "kind": "AgentEndpoint",
        "metadata": {"name": "inside"},
        "spec": {"url": PLACE, "upstream": {"url": f"tcp://echo.{SPACE}:80"}, "bindings": ["internal"]},
    },
)


def wait_until_up(one: World, seconds: float = 120) -> None:
    def up() -> bool:
        assert one.operator.poll() is None, one.log.read_text()[-2000:]
        found = one.get(f"/apis/gateway.networking.k8s.io/v1/namespaces/{SPACE}/gateways/gateway") or {}
        said = {each["type"]: each["status"] for each in (found.get("status") or {}).get("conditions", ())}
        return said.get("Programmed") == "True"

    eventually(up, "the gateway is programmed", seconds)
