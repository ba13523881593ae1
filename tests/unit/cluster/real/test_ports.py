"""Ports that two control planes never share."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from seamark_cluster.real import ports
from seamark_cluster.real.ports import Ports
from seamark_runtime.errors import UserError


@pytest.fixture
def two_ports(monkeypatch: pytest.MonkeyPatch) -> int:
    """A range of two ports, both unused."""
    first = next(
        port for port in range(17000, 17900, 2) if ports.free("127.0.0.1", port) and ports.free("127.0.0.1", port + 1)
    )
    monkeypatch.setattr(ports, "FIRST", first)
    monkeypatch.setattr(ports, "LAST", first + 1)
    return first


def test_two_reservations_never_meet(two_ports: int, tmp_path: Path) -> None:
    with Ports("127.0.0.1", tmp_path) as one, Ports("127.0.0.1", tmp_path) as other:
        assert {one.reserve(), other.reserve()} == {two_ports, two_ports + 1}
        with pytest.raises(UserError, match="no free port"):
            one.reserve()


def test_a_port_in_use_is_not_reserved(two_ports: int, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", two_ports)), Ports("127.0.0.1", tmp_path) as mine:
        assert mine.reserve() == two_ports + 1


def test_a_reservation_is_given_back_at_the_end(two_ports: int, tmp_path: Path) -> None:
    with Ports("127.0.0.1", tmp_path) as one:
        taken = {one.reserve(), one.reserve()}
    with Ports("127.0.0.1", tmp_path) as other:
        assert {other.reserve(), other.reserve()} == taken


def test_a_reservation_lasts_as_long_as_a_process_that_was_handed_it(two_ports: int, tmp_path: Path) -> None:
    mine = Ports("127.0.0.1", tmp_path)
    mine.reserve()
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=mine.fds, env=dict(os.environ)
    ) as child:
        mine.close()
        with Ports("127.0.0.1", tmp_path) as other:
            other.reserve()
            with pytest.raises(UserError):
                other.reserve()
        child.communicate(b"\n")
    with Ports("127.0.0.1", tmp_path) as other:
        assert {other.reserve(), other.reserve()} == {two_ports, two_ports + 1}


def test_an_address_of_another_machine_is_named(tmp_path: Path) -> None:
    with Ports("192.0.2.1", tmp_path) as mine, pytest.raises(UserError, match=r"can't listen on 192\.0\.2\.1"):
        mine.reserve()
