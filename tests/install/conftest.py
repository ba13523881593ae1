"""A cluster for installing on: a real control plane, and a node on which Seamark's image is this very program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seamark.gatewayapi.bundle import definitions
from seamark_cluster.real.users import User
from seamark_edge.dataplane.envoy import binary
from tests.cluster.kubelet_machine import running_machine
from tests.install.helm import Site
from tests.sources import PYTHONPATH
from tools.helm import built

NO_STREAMS = "--feature-gates=WatchList=false"  # as in 1.30, 1.31 and 1.33: every client needs the right to list
PROGRAMS = str(Path(sys.executable).parent)  # `python` of the image
PROGRAM = {
    "command": [sys.executable, "-c", "from seamark.cli.main import main; main()"],
    "env": {"PYTHONPATH": PYTHONPATH, "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.pathsep.join((PROGRAMS, os.defpath))},
}


@pytest.fixture(scope="session")
def helm() -> Path:
    return built()


@pytest.fixture(scope="session")
def site(helm: Path) -> Iterator[Site]:
    """One cluster for the session; each test installs into a namespace of its own, or cleans up."""
    definitions()  # while there is a way out of this machine
    table = {
        "seamark:*": PROGRAM,
        "registry.example.com/seamark:*": PROGRAM,
        "docker.io/envoyproxy/envoy:*": {"command": [str(binary.install())]},
    }
    with running_machine(table=table, users=(User("alice"), User("bob")), server=(NO_STREAMS,)) as machine:
        yield Site(machine, helm)
