"""Faults that concern many: the edge, the API server, the operator, the kubelet, and the operator's clock."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.witness.api import Key
from tests.witness.faults.fault import Break, Fault, linked, to_pids
from tests.witness.programs import processes
from tests.witness.relay import Mode
from tests.witness.world import World

ALL = frozenset(("gateway", "loadbalancer", "bindings", "dns", "score"))
AT_EDGE = frozenset(("loadbalancer", "bindings"))
EDGE_KINDS = {"Service", "AgentEndpoint", "CloudEndpoint", "Domain", "BoundEndpoint", "KubernetesOperator"}


def at_edge(key: Key) -> bool:
    return key[0] in EDGE_KINDS


def anything(key: Key) -> bool:
    return True


def outages(world: World, seconds: float) -> list[Fault]:
    """One of each; they are injected one at a time, for so long."""
    edge, operator = world.programs["edge"], world.programs["operator"]

    def outage(name: str, inject: object, repair: object, **more: object) -> Fault:
        given = {"touches": anything, "families": ALL, "hold": seconds, "outage": True, **more}
        return Fault(name, "all", Break.NONE, (), inject, repair, **given)  # type: ignore[arg-type]

    def api_server() -> list[int]:
        return processes(lambda arguments: Path(arguments[0]).name == "kube-apiserver")

    def etcd() -> list[int]:
        return processes(lambda arguments: Path(arguments[0]).name == "etcd")

    def kubelet() -> list[int]:
        return [world.programs["kubelet"].pid]

    def rest(mode: Mode) -> object:
        return linked(world, "rest", mode)

    def api(mode: Mode) -> object:
        return linked(world, "api", mode)

    concerned = {"touches": at_edge, "families": AT_EDGE}
    found = [
        outage("silent API of the edge", rest(Mode.SILENT), rest(Mode.PASS), **concerned),
        outage("refused API of the edge", rest(Mode.REFUSE), rest(Mode.PASS), **concerned),
        outage("silent API server", api(Mode.SILENT), api(Mode.PASS), mutes=True),
        outage("refused API server", api(Mode.REFUSE), api(Mode.PASS), mutes=True),
        outage(
            "frozen API server",
            to_pids(api_server, signal.SIGSTOP),
            to_pids(api_server, signal.SIGCONT),
            mutes=True,
        ),
        outage(
            "frozen operator",
            lambda: operator.signal(signal.SIGSTOP),
            lambda: operator.signal(signal.SIGCONT),
            mutes=True,
        ),
        outage("killed operator", operator.kill, world.start_operator, mutes=True),
        outage(
            "frozen edge",
            lambda: edge.signal(signal.SIGSTOP),
            lambda: edge.signal(signal.SIGCONT),
            breaks=AT_EDGE,
            **concerned,
        ),
        outage("killed edge", edge.kill, edge.start, breaks=AT_EDGE, hold=min(seconds, 30.0), **concerned),
    ]
    found += [
        # Services are routed by the kubelet: clients of all families but DNS fail.
        outage("frozen kubelet", to_pids(kubelet, signal.SIGSTOP), to_pids(kubelet, signal.SIGCONT), breaks=ALL),
        outage("frozen etcd", to_pids(etcd, signal.SIGSTOP), to_pids(etcd, signal.SIGCONT), mutes=True),
    ]
    if world.faketime is not None:
        found += [clock(world, jump) for jump in ("+3600", "-3600")]
    return found


def clock(world: World, jump: str) -> Fault:
    """The operator's wall clock jumps by an hour; a leader's Lease may be given up for it."""
    return Fault(
        f"clock of the operator {jump} s",
        "all",
        Break.NONE,
        (),
        lambda: world.offset.write_text(f"{jump}\n"),
        lambda: world.offset.write_text("+0\n"),
        anything,
        15.0,
        outage=True,
        families=ALL,
    )
