"""`python -m tests.bench.edge`: what the edge reaches, as shares of a direct connection in the same run."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from tests.bench.edge.load import DOWN, UP, pings, transfer
from tests.bench.edge.ways import edge_with, forwarder, service, ssh_reverse
from tests.bench.report import save

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
DIRECT_SIZE, TUNNEL_SIZE = 3 << 30, 384 << 20
IDLE = int(os.environ.get("BENCH_IDLE", "10000"))
TICK = os.sysconf("SC_CLK_TCK")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def cpu(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def resident(pids: list[int]) -> int:
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE")


def measured(port: int, kind: bytes, size: int, pids: list[int], name: str) -> float:
    before = cpu(pids)
    rate = transfer(port, kind, size)
    spent = (cpu(pids) - before) / (size / 1e9)
    words = f", {spent:.2f} CPU-s/GB" if pids else ""
    say(f"  {name} {'down' if kind == DOWN else 'up'}: {rate / 1e6:.0f} MB/s{words}")
    return rate


def connection_rate(port: int, seconds: float = 4.0) -> float:
    command = [sys.executable, "-m", "tests.bench.edge.load", "connections", str(port), str(seconds)]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def throughput(bulk: int) -> dict[str, float]:
    """Shares of direct, the median of the rounds; in each round every way once, next to each other."""
    rates: dict[str, list[float]] = {}
    with ExitStack() as stack:
        plain, plain_pids = stack.enter_context(forwarder(bulk))
        (ours,), our_pids = stack.enter_context(edge_with("seamark", bulk))
        (go,), go_pids = stack.enter_context(edge_with("go", bulk))
        ssh = stack.enter_context(ssh_reverse(bulk))
        if ssh is None:
            say("no OpenSSH server here: its numbers are left out")
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}")
            for kind, way in ((DOWN, "down"), (UP, "up")):
                direct = measured(bulk, kind, DIRECT_SIZE, [], "direct")
                found = {
                    "forward" if kind == DOWN else "forward_up": measured(
                        plain, kind, DIRECT_SIZE // 2, plain_pids, "forward"
                    ),
                    way: measured(ours, kind, TUNNEL_SIZE, our_pids, "seamark agent"),
                    f"go_{way}": measured(go, kind, TUNNEL_SIZE, go_pids, "go agent"),
                }
                if ssh is not None:
                    found[f"ssh_{way}"] = measured(ssh[0], kind, TUNNEL_SIZE, ssh[1], "ssh -R")
                for name, rate in found.items():
                    rates.setdefault(name, []).append(rate / direct)
    return {name: statistics.median(values) for name, values in rates.items()}


def small_things(echo: int) -> dict[str, float]:
    with edge_with("seamark", echo) as ((port,), pids):
        direct = pings(echo, 3000)
        through = pings(port, 3000)
        say(f"  round trip: direct {direct * 1e6:.0f} us, tunnelled {through * 1e6:.0f} us")
        rate = statistics.median(connection_rate(port) for _ in range(ROUNDS))
        say(f"  connections: direct {connection_rate(echo):.0f}/s, tunnelled {rate:.0f}/s")
        idle = idle_cost(port, pids)
        return {"conn_per_s": rate, "p50_ms": (through - direct) * 1000, "kb_per_idle": idle / 1024}


def idle_cost(port: int, pids: list[int]) -> float:
    """Resident bytes of edge and agent together for each idle connection. Each has carried a byte both ways."""
    before = resident(pids)
    clients = []
    try:
        for _ in range(IDLE):
            clients.append(socket.create_connection(("127.0.0.1", port), 30))
            clients[-1].sendall(b"x")
        for client in clients:
            client.recv(1)
        time.sleep(1)
        after = resident(pids)
    finally:
        for client in clients:
            client.close()
    say(f"  {IDLE} idle connections: {(after - before) / IDLE / 1024:.1f} KB each in edge and agent together")
    return (after - before) / IDLE


def main() -> None:
    with service("bulk") as bulk:
        shares = throughput(bulk)
    with service("echo") as echo:
        small = small_things(echo)
    found = {**shares, **small}
    order = ("down", "up", "forward", "conn_per_s", "p50_ms", "kb_per_idle", "ssh_down", "ssh_up", "go_down")
    parts = (f"{name}={found[name]:.{0 if name == 'conn_per_s' else 3}f}" for name in order if name in found)
    save("edge", "standard", found)
    say("edge: " + " ".join(parts))


if __name__ == "__main__":
    main()
