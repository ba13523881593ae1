"""Networks of the witness's own: the node, where the cluster runs, and the outside, with edge, name server and clients.

- The witness and everything that it starts are in namespaces of their own (network, mounts, processes): whatever
  happens to the witness, nothing is left behind.
- Each address of the outside is local on the node, too: a relay listens there under the same address and port, so that
  programs on the node and in Pods reach the outside through relays only, with the certificates of the outside.
- Clients outside reach the addresses of Gateways (`GATEWAYS`) over a veth pair.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NODE = "10.99.0.1"
OUTSIDE = "10.99.0.10"  # how relays on the node reach the outside
EDGE = "198.51.100.10"
NAME_SERVER = "198.51.100.53"
GATEWAYS = "172.30.0.0/24"
POD_GATEWAY = "10.244.0.1"
INSIDE = "WITNESS_INSIDE"


def enter(arguments: Sequence[str]) -> None:
    """Start this program again inside of new namespaces, in place of this process."""
    names = ["--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    command = ["unshare", *names, sys.executable, "-m", "tests.witness", *arguments]
    os.execvpe("unshare", command, {**os.environ, INSIDE: "1"})


def run(*command: str, given: str | None = None) -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Sandbox:
    """The two networks. `outside` is what to put in front of a command to run it there."""

    def __init__(self) -> None:
        self._holder: subprocess.Popen[bytes]
        self.outside: tuple[str, ...] = ()

    def open(self) -> None:
        run("ip", "link", "set", "lo", "up")
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self._wait_for_own_network()
        self.outside = ("nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "--")
        run("ip", "link", "add", "wit0", "type", "veth", "peer", "name", "wit1", "netns", str(self._holder.pid))
        run("ip", "address", "add", f"{NODE}/24", "dev", "wit0")
        run("ip", "link", "set", "wit0", "up")
        for network in (GATEWAYS, f"{EDGE}/32", f"{NAME_SERVER}/32"):
            run("ip", "route", "add", "local", network, "dev", "lo")
        for arguments in (
            "link set lo up",
            f"address add {OUTSIDE}/24 dev wit1",
            "link set wit1 up",
            f"address add {EDGE}/32 dev wit1",
            f"address add {NAME_SERVER}/32 dev wit1",
            f"route add default via {NODE}",
        ):
            run(*self.outside, "ip", *arguments.split())

    def _wait_for_own_network(self) -> None:
        mine = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{self._holder.pid}/ns/net").readlink() == mine:
            if self._holder.poll() is not None:
                raise RuntimeError("unshare --net failed: the witness needs root")
