"""One arena for the session (one for each worker), and its tally at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

from seamark_cluster.real.plane import ControlPlane, Options
from seamark_cluster.real.plane import User as RealUser
from tests.fidelity.arena import Arena, Row, table

TALLY = pytest.StashKey[list[tuple[int, set[Row]]]]()

# Pods without a token volume: the store has no tokens to mount (docs/embedded.md).
FLAGS = ("--disable-admission-plugins=ServiceAccount",)


@pytest.fixture(scope="session")
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    options = Options(controllers=False, users=(RealUser("alice", ("developers",)),), api_server_flags=FLAGS)
    with ControlPlane(options) as plane:
        made = Arena(plane)
        yield made
        made.real.close()
        _tell(request.config, made.operations, set(made.rows))


def _tell(config: pytest.Config, operations: int, rows: set[Row]) -> None:
    """To this process's own tally, or from a worker to its controller."""
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is not None:
        output["fidelity"] = [operations, sorted(rows)]
    else:
        config.stash.setdefault(TALLY, []).append((operations, rows))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    del error
    operations, rows = getattr(node, "workeroutput", {}).get("fidelity", (0, []))
    node.config.stash.setdefault(TALLY, []).append((operations, {tuple(row) for row in rows}))


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    tallies = config.stash.get(TALLY, [])
    if not tallies:
        return
    operations = sum(count for count, _ in tallies)
    seen = set().union(*(rows for _, rows in tallies))
    rows = table()
    terminalreporter.write_line(
        f"fidelity: operations={operations} rows={len(rows & seen)} of={len(rows)} beyond={len(seen - rows)}"
    )
