"""Closed networks: nothing leaves, nothing meets, nothing stays."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from seamark_cluster.network import namespaces
from seamark_cluster.network.closed import BRIDGE, ClosedNetwork, hardware

HERE = Path("/proc/thread-self/ns/net")


def test_parallel_closed_networks_do_not_meet() -> None:
    outside = str(HERE.readlink())
    with ClosedNetwork() as first:
        one = socket.create_server((first.node, 443))
        inside = str(HERE.readlink())
        with ClosedNetwork() as second:
            other = socket.create_server((second.node, 443))
            assert str(HERE.readlink()) not in (outside, inside)
            with pytest.raises(OSError, match="unreachable"):
                socket.create_connection(("192.0.2.1", 80), timeout=5)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("10.96.1.2", 80), timeout=5)
        assert str(HERE.readlink()) == inside
        one.close()
        other.close()
    assert str(HERE.readlink()) == outside


def test_processes_started_inside_are_inside() -> None:
    with ClosedNetwork():
        said = subprocess.run(["readlink", "/proc/self/ns/net"], capture_output=True, text=True, check=True).stdout
        assert said.strip() == str(HERE.readlink())


def test_a_network_is_gone_with_its_last_holder() -> None:
    with ClosedNetwork():
        descriptor = namespaces.create()
        namespaces.ip((f"link add outer type veth peer name inner netns {namespaces.path(descriptor)}",))
        os.close(descriptor)
        for _ in range(500):  # the kernel cleans up in its own time
            if subprocess.run(["ip", "link", "show", "outer"], capture_output=True, check=False).returncode:
                break
        else:
            pytest.fail("the interface stayed")


def test_the_switch_is_known_by_the_same_link_address_whoever_comes_and_goes() -> None:
    def told() -> str:
        return subprocess.run(["ip", "-o", "link", "show", BRIDGE], capture_output=True, text=True, check=True).stdout

    with ClosedNetwork() as network:
        before = hardware(network.node)
        assert before in told()
        port = "link add port address 00:00:00:00:00:01 type veth peer name pod"  # by itself, a bridge takes the lowest
        namespaces.ip((port, f"link set port master {BRIDGE} up"))
        assert before in told()
        namespaces.ip(("link delete port",))
        assert before in told()
