"""What a page takes for granted: a cluster that the kubeconfig names, a name server, an edge.

Each is real, on this machine. It gives the texts of the page that are replaced here, as (on the page, here).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import dns.query
from dns.update import UpdateMessage

from tests.dns.servers import KEY, SECRET, ZONE, Bind
from tests.edge.running import RunningEdge
from tests.edge.services import free_port
from tools.setup import ROOT

Words = dict[str, str]
PATIENCE = 120.0
World = Callable[[Path], AbstractContextManager[tuple[dict[str, str], Words]]]
"""From a directory to the environment of the page's commands, and to the words that are others here."""


@contextmanager
def started(directory: Path, prints: str, *arguments: str) -> Iterator[str]:
    """A program of ours, from the moment that it has printed this until the end of the block; gives what it named."""
    command = [sys.executable, "-c", "from seamark.cli.main import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "200", "XDG_STATE_HOME": str(directory / ".state")}
    said = directory / ".started"
    with said.open("w") as out:
        running = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, env=environment)
    try:
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(prints, said.read_text(errors="replace"))):
            assert running.poll() is None, said.read_text()
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(0.05)
        yield found[1]
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(60)


@contextmanager
def cluster(directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
    """An embedded cluster with a node, and nothing in it."""
    with started(directory, r"export KUBECONFIG=(\S+)", "cluster", "serve") as kubeconfig:
        yield {"KUBECONFIG": kubeconfig, "SEAMARK_HEALTH_ADDRESS": ""}, {}


@contextmanager
def dev(directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
    """What `make run` starts, with the kubeconfig that it prints."""
    with started(directory, r"--kubeconfig (\S+)", "dev") as kubeconfig:
        console = f"seamark console --address 127.0.0.1:{free_port()}"  # the usual place is that of the one that runs
        yield {"KUBECONFIG": kubeconfig}, {".venv/bin/seamark": "seamark", "seamark console": console}


@contextmanager
def with_name_server(directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
    """A cluster, and BIND with a zone and a key."""
    server = Bind(directory / ".bind")
    try:
        with cluster(directory) as (environment, _):
            words = {
                "192.0.2.53": f"127.0.0.1:{server.port}",
                "example.org": ZONE,
                "TSIG_NAME=seamark": "TSIG_NAME=seamark-key",
                "TSIG_SECRET=…": f"TSIG_SECRET={SECRET}",
            }
            yield {**environment, "ZONE": ZONE}, words
    finally:
        server.close()


@contextmanager
def after_external_dns(directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
    """The same, with a record in the zone as ExternalDNS writes it."""
    value = '"heritage=external-dns,external-dns/owner=my-cluster,external-dns/resource=crd/default/www"'

    with with_name_server(directory) as (environment, words):
        host, _, port = words["192.0.2.53"].rpartition(":")
        key = KEY.key()
        update = UpdateMessage(ZONE, keyring={key.name: key}, keyname=key.name)
        update.add(f"www.{ZONE}.", 300, "A", "192.0.2.1")
        update.add(f"a-www.{ZONE}.", 300, "TXT", value)
        assert dns.query.tcp(update, host, port=int(port), timeout=10).rcode() == 0
        yield environment, words


@contextmanager
def with_an_edge(directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
    """A cluster, and an edge that stands for ngrok's cloud, with an address that is reserved there."""
    edge = RunningEdge(directory / ".edge")
    try:
        code, reserved = edge.api("POST", "/reserved_addrs", {})
        assert code < 300, reserved
        place = f"{edge.api_url} SEAMARK_BINDINGS_EDGE_CA={edge.ca}"
        words = {
            "SEAMARK_LB_PROVIDER=ngrok": f"SEAMARK_LB_API_URL={edge.api_url}",
            "SEAMARK_LB_API_KEY=…": f"SEAMARK_LB_API_KEY={edge.api_key}",
            "SEAMARK_BINDINGS_EDGE=ngrok": f"SEAMARK_BINDINGS_EDGE=seamark SEAMARK_BINDINGS_EDGE_URL={place}",
            "SEAMARK_BINDINGS_EDGE_KEY=…": f"SEAMARK_BINDINGS_EDGE_KEY={edge.api_key}",
            "SEAMARK_AGENT_TOKEN=…": f"SEAMARK_AGENT_TOKEN={edge.token}",
            "--provider ngrok": f"--server {edge.address} --ca {edge.ca}",
        }
        with cluster(directory) as (environment, _):
            yield {**environment, "RESERVED": reserved["addr"]}, words
    finally:
        edge.close()


@contextmanager
def with_ports(directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
    """A cluster, and free ports in the place of an edge's usual ones."""
    low = free_port(101)
    ports = {"4443": free_port(), "4040": free_port(), "4442": free_port(), "8080": free_port(), "8443": free_port()}
    edge = {
        "SEAMARK_EDGE_AGENT_PORT": str(ports["4443"]),
        "SEAMARK_EDGE_API_PORT": str(ports["4040"]),
        "SEAMARK_EDGE_TCP_PORTS": f"{low}-{low + 100}",
        "SEAMARK_EDGE_DRAIN_SECONDS": "0",
    }
    with cluster(directory) as (environment, _):
        yield (
            {**environment, **edge},
            {f"{mark}{usual}": f"{mark}{here}" for usual, here in ports.items() for mark in ": "},
        )
