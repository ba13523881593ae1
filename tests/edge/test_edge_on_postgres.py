"""An edge whose state is in PostgreSQL, with agents and clients, while the database comes and goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.edge.driving import connected
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import dial, echo, eventually, service
from tests.postgres import PASSWORD, PostgresServer

Start = Callable[[str], AgentProgram]
AWAY = "the database of this edge is away: nothing new can be reserved"


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    return postgres.database()


@pytest.fixture
def edge(postgres: PostgresServer, database: str, tmp_path: Path) -> Iterator[RunningEdge]:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    running = RunningEdge(
        tmp_path / "state", store=postgres.url(database, ""), store_password_file=str(password), lease_seconds=600
    )
    yield running
    running.close()
    assert PASSWORD not in running.log


@pytest.fixture
def upstream() -> Iterator[str]:
    with service(echo) as address:
        yield f"tcp://{address}"


def works(url: str) -> bool:
    with suppress(OSError), dial(url) as client:
        client.settimeout(5)
        client.sendall(b"fine")
        return client.recv(10) == b"fine"
    return False


def away(edge: RunningEdge) -> bool:
    return AWAY in edge.get("/readyz")


def back(edge: RunningEdge) -> None:
    eventually(lambda: edge.get("/readyz") == "ready\n", "the database answers again")


def metric(edge: RunningEdge, name: str) -> float:
    lines = edge.get("/metrics").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name + " "))


@pytest.mark.parametrize("sdk", ["python", "go", "seamark"])
def test_an_address_is_the_agents_again_after_a_restart_and_nothing_lies_in_a_file(
    edge: RunningEdge, agents: Start, upstream: str, sdk: str
) -> None:
    url = connected(agents, sdk, edge).must("forward", url="tcp://", upstream=upstream)["url"]
    assert works(url)
    edge.kill()
    edge.start()
    eventually(lambda: works(url), "the agent is back at its address")
    assert not (edge.state / "edge.db").exists()


@pytest.mark.parametrize("end", ["killed", "frozen"])
def test_while_the_database_is_away_traffic_and_known_addresses_are_served_and_the_new_is_refused(
    postgres: PostgresServer, edge: RunningEdge, agents: Start, upstream: str, end: str
) -> None:
    stays, returns = connected(agents, "seamark", edge), connected(agents, "seamark", edge)
    first = stays.must("forward", url="tcp://", upstream=upstream)["url"]
    second = returns.must("forward", url="tcp://", upstream=upstream)["url"]
    _, domain = edge.api("POST", "/reserved_domains", {"domain": "shop.example.test"})
    _, cloud = edge.api("POST", "/endpoints", {"url": "tls://cloud.internal", "bindings": ["internal"]})
    with dial(first) as open_before:
        postgres.kill() if end == "killed" else postgres.signal_all(signal.SIGSTOP)
        try:
            eventually(lambda: away(edge), "the outage is visible")
            assert metric(edge, "seamark_edge_store_up") == 0
            assert works(first)
            open_before.sendall(b"still")
            assert open_before.recv(10) == b"still"
            # A known address is given to its agent again.
            returns.kill()
            eventually(lambda: not works(second), "the agent has left")
            again = connected(agents, "seamark", edge)
            assert again.must("forward", url=second, upstream=upstream)["url"] == second
            assert works(second)
            # What is new is refused, at once and by name.
            for url in ("tcp://", "tcp://127.0.0.1:" + str(edge._low + 100)):
                refused = stays.ask("forward", url=url, upstream=upstream)
                assert AWAY in refused["error"]
                assert "ERR_NGROK_8503" in refused["error"]
            for method, path, body in (
                ("POST", "/reserved_addrs", {}),
                ("POST", "/reserved_domains", {"domain": "other.example.test"}),
                ("POST", "/credentials", {}),
                ("POST", "/endpoints", {"url": "tls://new.internal", "bindings": ["internal"]}),
                ("PATCH", f"/endpoints/{cloud['id']}", {"url": "tls://moved.internal"}),
                ("DELETE", f"/endpoints/{cloud['id']}", None),
                ("DELETE", f"/reserved_domains/{domain['id']}", None),
            ):
                status, answer = edge.api(method, path, body)
                assert (status, answer["error_code"], answer["msg"]) == (503, "ERR_NGROK_8503", AWAY), (method, path)
            # Nothing half is left of it.
            assert [e["url"] for e in edge.api("GET", "/endpoints")[1]["endpoints"] if e["type"] == "cloud"] == [
                "tls://cloud.internal"
            ]
        finally:
            postgres.start() if end == "killed" else postgres.signal_all(signal.SIGCONT)
        back(edge)
        assert works(first)
        assert works(second)
    assert (metric(edge, "seamark_edge_store_up"), metric(edge, "seamark_edge_store_owed")) == (1, 0)
    third = stays.must("forward", url="tcp://", upstream=upstream)["url"]
    assert edge.api("DELETE", f"/reserved_domains/{domain['id']}")[0] == 204
    edge.kill()
    edge.start()
    for url in (first, second, third):
        eventually(lambda url=url: works(url), f"{url} is served after a restart")  # type: ignore[misc]


def test_a_database_restored_from_an_older_copy_forgets_nothing_that_is_in_use(
    postgres: PostgresServer, database: str, edge: RunningEdge, agents: Start, upstream: str
) -> None:
    before = connected(agents, "seamark", edge).must("forward", url="tcp://", upstream=upstream)["url"]
    _, revoked = edge.api("POST", "/credentials", {})
    copy = postgres.run("pg_dump", "--clean", "--if-exists", "-d", postgres.url(database))
    (postgres.directory / "copy.sql").write_text(copy)
    after = connected(agents, "seamark", edge).must("forward", url="tcp://", upstream=upstream)["url"]
    _, address = edge.api("POST", "/reserved_addrs", {})
    edge.api("DELETE", f"/credentials/{revoked['id']}")
    postgres.kill()
    eventually(lambda: away(edge), "the outage is visible")
    os.kill(edge.process.pid, signal.SIGSTOP)  # the copy is restored before any edge connects
    postgres.start()
    postgres.run("psql", "-q", "-d", postgres.url(database), "-f", "copy.sql")
    os.kill(edge.process.pid, signal.SIGCONT)
    back(edge)
    edge.kill()
    edge.start()
    for url in (before, after):
        eventually(lambda url=url: works(url), f"{url} is served after a restart")  # type: ignore[misc]
    assert [found["addr"] for found in edge.api("GET", "/reserved_addrs")[1]["reserved_addrs"]] == [address["addr"]]
    assert revoked["id"] not in [found["id"] for found in edge.api("GET", "/credentials")[1]["credentials"]]


def test_to_register_an_endpoint_costs_at_most_two_statements(
    postgres: PostgresServer, database: str, edge: RunningEdge, agents: Start, upstream: str
) -> None:
    edge.stop()
    postgres.log_statements(database)
    edge.start()
    agent = connected(agents, "seamark", edge)
    before = len(postgres.statements(database))
    for number in range(1, 6):
        agent.must("forward", url="tcp://", upstream=upstream)
        made = postgres.statements(database)[before:]
        changes = [line for line in made if "SELECT 1" not in line]  # the edge looks whether the database is there
        assert len(changes) <= 2 * number, changes
    assert len(changes) >= 5
    before = len(postgres.statements(database))
    edge.api("POST", "/endpoints", {"url": "tls://cloud.internal", "bindings": ["internal"]})
    assert len([line for line in postgres.statements(database)[before:] if "SELECT 1" not in line]) == 1


def test_connections_of_clients_cost_no_statement(
    postgres: PostgresServer, database: str, edge: RunningEdge, agents: Start, upstream: str
) -> None:
    url = connected(agents, "seamark", edge).must("forward", url="tcp://", upstream=upstream)["url"]
    edge.stop()
    postgres.log_statements(database)
    edge.start()
    eventually(lambda: works(url), "the agent is back")
    before = len(postgres.statements(database))
    assert all(works(url) for _ in range(50))
    assert [line for line in postgres.statements(database)[before:] if "SELECT 1" not in line] == []


def test_a_second_edge_on_the_database_and_a_wrong_password_are_one_line(
    postgres: PostgresServer, edge: RunningEdge, tmp_path: Path
) -> None:
    reasons = {PASSWORD: "another edge runs on postgresql://", "wr0ng": "password authentication failed"}
    for password, words in reasons.items():
        environment = {**edge.environment, "PGPASSWORD": password, "SEAMARK_EDGE_STORE_PASSWORD_FILE": ""}
        second = subprocess.run(
            [sys.executable, "-m", "seamark", "edge", "--state", str(tmp_path / "other") + "/"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 2
        assert words in second.stderr
        assert len(second.stderr.strip().splitlines()) == 1, second.stderr
        assert password not in second.stdout + second.stderr


def test_the_password_is_nowhere_to_be_seen(postgres: PostgresServer, database: str, tmp_path: Path) -> None:
    """Also one that is in the URL, as Secrets of database operators have it."""
    running = RunningEdge(tmp_path / "state", store=postgres.url(database))
    try:
        postgres.kill()
        eventually(lambda: away(running), "the outage is visible")
    finally:
        postgres.start()
    back(running)
    shown = running.get("/metrics") + running.get("/readyz")
    running.close()
    for text in (running.log, shown, "\n".join(running.said)):
        assert PASSWORD not in text
        assert "word%2Fwith" not in text
    assert "edge started" in running.log
