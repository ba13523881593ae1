"""One arena for the session, and its tally at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from _pytest.terminal import TerminalReporter

from seamark.cluster.real.plane import ControlPlane, Options
from seamark.cluster.real.plane import User as RealUser
from tests.fidelity.arena import Arena, record, table

TALLY = pytest.StashKey[list[str]]()

# Pods without a token volume: the store has no tokens to mount (docs/embedded.md).
FLAGS = ("--disable-admission-plugins=ServiceAccount",)


@pytest.fixture(scope="session")
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    options = Options(controllers=False, users=(RealUser("alice"),), api_server_flags=FLAGS)
    with ControlPlane(options) as plane:
        made = Arena(plane)
        yield made
        made.real.close()
        if os.environ.get("FIDELITY_RECORD"):
            record(made.rows)
        rows = table()
        seen = set(made.rows)
        request.config.stash[TALLY] = [
            f"fidelity: operations={made.operations} rows={len(rows & seen)} of={len(rows)} beyond={len(seen - rows)}"
        ]


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(TALLY, []):
        terminalreporter.write_line(line)
