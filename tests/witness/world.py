"""The product as its users start it: by its commands only."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.witness import manifests
from tests.witness.api import Api, Json, Refused
from tests.witness.programs import Program, eventually, processes
from tests.witness.relay import Link, Relays
from tests.witness.sandbox import EDGE, GATEWAYS, NAME_SERVER, NODE, OUTSIDE, Sandbox, run

HOME = manifests.HOME
AGENTS, REST, INGRESS, TLS = 4443, 4040, 4442, 443
ZONE = "witness.test"
DOMAIN = "edge.witness.test"
SHELF = 15.0  # seconds that evidence keeps, for every family
# At the defaults (30 s, 120 s) one fault of a name server takes longer than four minutes to be seen and repaired.
OF_NAMES: dict[str, object] = {"dns_poll": 3, "dns_request_timeout": 4, "dns_shelf_life": SHELF}
SHORT: dict[str, object] = {"lb_poll": 1, "bindings_poll": 1}
FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"
FAMILIES = "bindings,dns,gateway,loadbalancer,score-orchestrator,score-registrar,score-mirror,score-runtime"
BIN = Path(".venv/bin").absolute()


class World:
    """Everything that takes part. `start` returns when the operator leads; objects are made by the caller."""

    def __init__(self, folder: Path, *, short: bool = False) -> None:
        self.folder = folder
        self.short = short
        self.sandbox = Sandbox()
        self.relays = Relays()
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "TMPDIR": str(folder)}
        self.environment.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        self.api: Api
        self.kubeconfig: Path
        self.links: dict[str, Link] = {}
        self.programs: dict[str, Program] = {}
        self.offset = folder / "faketime"  # by how much the operator's clock is off
        self.faketime = next(iter(sorted(Path("/").glob(FAKETIME[1:]))), None)

    # ---- how it starts

    def start(self) -> None:
        self.sandbox.open()
        self._control_plane()
        self._outside()
        self._links()
        self._kubelet()
        self._kinds()
        self.start_operator()

    def _control_plane(self) -> None:
        # The bridge of Pods: the kubelet uses the one that is there.
        run(*self.seamark("cluster", "up", "--name", "witness", "--bind-address", NODE))
        self.kubeconfig = Path(run(*self.seamark("cluster", "kubeconfig", "--name", "witness")).strip())
        self.api = Api(self.kubeconfig)

    def seamark(self, *arguments: str, outside: bool = False) -> list[str]:
        kept = ("XDG_STATE_HOME", "TMPDIR", "XDG_CACHE_HOME")
        settings = [f"{name}={self.environment[name]}" for name in kept]
        prefix = self.sandbox.outside if outside else ()
        return [*prefix, "env", *settings, str(BIN / "seamark"), *arguments]

    def program(
        self, name: str, *command: str, outside: bool = False, settings: Mapping[str, str] | None = None
    ) -> Program:
        prefix = self.sandbox.outside if outside else ()
        made = Program(name, [*prefix, *command], self.folder, {**self.environment, **(settings or {})})
        self.programs[name] = made
        return made

    def _outside(self) -> None:
        (self.folder / "names").mkdir()
        (self.folder / "names" / "named.conf").write_text(manifests.named(self.folder / "names"))
        (self.folder / "names" / "zone").write_text(manifests.zone())
        config = str(self.folder / "names" / "named.conf")
        self.program("named", "named", "-n", "1", "-c", config, "-g", outside=True).start()
        arguments = ["--state", str(self.folder / "edge" / "edge.db"), "--bind", "0.0.0.0", "--public-host", EDGE]
        arguments += ["--domain", DOMAIN, "--agent-port", str(AGENTS), "--api-port", str(REST)]
        arguments += ["--ingress-port", str(INGRESS), "--tls-port", str(TLS), "--tcp-ports", "20000-20099"]
        self.program("edge", str(BIN / "seamark"), "edge", *arguments, outside=True).start()
        eventually((self.folder / "edge" / "api-key").exists, "the edge is up", 60)

    def _links(self) -> None:
        ports = {"agents": AGENTS, "rest": REST, "ingress": INGRESS}
        for name, port in ports.items():
            self.links[name] = self.relays.open(Link(name, (EDGE, port), (OUTSIDE, port)))
        names = Link("names", (NAME_SERVER, 53), (OUTSIDE, 53), udp=True)
        self.links["names"] = self.relays.open(names)
        self.links["api"] = self.relays.open(Link("api", ("127.0.0.1", 6500), (self.api.host, self.api.port)))

    def _kubelet(self) -> None:
        arguments = ["--kubeconfig", str(self.kubeconfig), "--network", "bridge", "--backoff", "2"]
        self.program("kubelet", str(BIN / "seamark"), "cluster", "kubelet", *arguments).start()
        log = self.programs["kubelet"].log
        eventually(lambda: "node is ready" in log.read_text(), "the node is ready", 120)

    def _kinds(self) -> None:
        for namespace in (HOME, "score-system", *manifests.NAMESPACES):
            self.kubectl("create", "namespace", namespace)
        run(*self.seamark("install", "--kubeconfig", str(self.kubeconfig)))
        self.kubectl("apply", "-f", "-", given=run(*self.seamark("roles", "--namespace", HOME)))

    # ---- the operator

    def start_operator(self) -> None:
        """Under the account and with the roles that `seamark roles` prints, through a relay to the API server."""
        if "operator" not in self.programs:
            config = self._operator_kubeconfig()
            environment = {**self._settings(), "SEAMARK_KUBECONFIG": str(config), **self._clock()}
            self.program("operator", str(BIN / "seamark"), "run", settings=environment)
        self.programs["operator"].start()

    def _operator_kubeconfig(self) -> Path:
        token = run(*self._kubectl("create", "token", "seamark", "-n", HOME, "--duration=24h")).strip()
        document = yaml.safe_load(self.kubeconfig.read_text())
        document["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:6500"
        context = next(one for one in document["contexts"] if one["name"] == document["current-context"])
        document["contexts"] = [context]
        document["users"] = [{"name": context["context"]["user"], "user": {"token": token}}]
        path = self.folder / "operator.kubeconfig"
        path.write_text(yaml.safe_dump(document))
        return path

    def _settings(self) -> dict[str, str]:
        edge, key = f"http://{EDGE}:{REST}", str(self.folder / "edge" / "api-key")
        given: dict[str, object] = {
            "families": FAMILIES,
            "health_address": "",
            "lb_api_url": edge,
            "lb_api_key_file": key,
            "bindings_edge": "seamark",
            "bindings_edge_url": edge,
            "bindings_edge_key_file": key,
            "bindings_edge_ca": self.folder / "edge" / "ca.pem",
            "dns_provider": "rfc2136",
            "dns_server": NAME_SERVER,
            "dns_zones": ZONE,
            "dns_tsig_name": "witness",
            "dns_tsig_secret": manifests.SECRET,
            "gateway_addresses": GATEWAYS,
            "score_pod_network": "reachable",
        }
        given |= OF_NAMES | (SHORT if self.short else {})
        return {f"SEAMARK_{name.upper()}": str(value) for name, value in (given | self._envoy()).items()}

    def _envoy(self) -> dict[str, object]:
        """Envoy without the operator's library of a false clock, which it does not start with."""
        if self.faketime is None:
            return {}
        program = run(*self.seamark("gateway", "envoy")).strip().splitlines()[-1]
        script = self.folder / "envoy"
        script.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {program} "$@"\n')
        script.chmod(0o755)
        return {"gateway_envoy": str(script)}

    def _clock(self) -> dict[str, str]:
        if self.faketime is None:
            return {}
        self.offset.write_text("+0\n")
        return {
            "LD_PRELOAD": str(self.faketime),
            "FAKETIME_TIMESTAMP_FILE": str(self.offset),
            "FAKETIME_CACHE_DURATION": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    # ---- what others use

    def _kubectl(self, *arguments: str) -> list[str]:
        return ["kubectl", f"--kubeconfig={self.kubeconfig}", *arguments]

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        return run(*self._kubectl(*arguments), given=given)

    def apply(self, documents: list[Json]) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", given=yaml.safe_dump_all(documents))

    def ready_pods(self, namespace: str, name: str) -> list[str]:
        """Addresses of the ready Pods whose names start with that of a workload; none while the API server is away."""
        try:
            pods = self.api.ask("GET", self.api.path(("Pod", namespace, "")))["items"]
        except (OSError, Refused):
            return []
        return [pod["status"]["podIP"] for pod in pods if pod["metadata"]["name"].startswith(f"{name}-") and ready(pod)]

    def pod_processes(self, marker: str) -> list[int]:
        """Processes of Pods whose environment names this Deployment, or whose arguments have the marker."""
        found = []
        for pid in processes(lambda arguments: True):
            try:
                if f"WITNESS={marker}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(pid)
            except OSError:
                continue
        return found

    def close(self) -> None:
        """Let the programs end by themselves; whatever stays ends with the witness's process namespace."""
        for name in ("liar", "operator", "kubelet", "edge", "named"):
            program = self.programs.get(name)
            if program is not None:
                program.wanted = False
                program.signal(signal.SIGCONT)
                program.signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while any(program.alive for program in self.programs.values()) and time.monotonic() < deadline:
            time.sleep(0.2)


def ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
