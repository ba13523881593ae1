"""Agents and API callers that send policies that are expensive to check hold up no one else."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping

from tests.edge.driving import Start, connected
from tests.edge.running import RunningEdge
from tests.edge.services import dial, echo, eventually, service

BINDS = 150
NESTED = "on_tcp_connect: [" + ",".join(["[" * 13 + "{}" + "]" * 13] * 130) + "]"  # just within the limits
AUTH, BIND, DATA, SYN, FIN = 0, 1, 1, 2, 1


class RawAgent:
    """An agent that writes requests without waiting for answers."""

    def __init__(self, edge: RunningEdge, token: str) -> None:
        raw = socket.create_connection(("127.0.0.1", edge.ports["agent_port"]), 30)
        self.connection = ssl.create_default_context(cafile=edge.ca).wrap_socket(raw, server_hostname="127.0.0.1")
        self.stream = 1
        self.connection.sendall(self.request(AUTH, {"Version": ["3"], "Extra": {"AuthToken": token}}))

    def request(self, kind: int, body: Mapping[str, object]) -> bytes:
        payload = struct.pack(">I", kind) + json.dumps(body).encode()
        stream, self.stream = self.stream, self.stream + 2
        return struct.pack(">II", (len(payload) << 8) | (DATA << 4) | SYN | FIN, stream) + payload

    def answers(self, count: int) -> bytes:
        """All bytes up to the answer that ends the so-manieth stream."""
        data, ended, at = b"", 0, 0
        while ended < count:
            received = self.connection.recv(65536)
            assert received
            data += received
            while len(data) >= at + 8:
                head = struct.unpack(">I", data[at : at + 4])[0]
                if len(data) < at + 8 + (head >> 8):
                    break
                ended += (head >> 4) & 15 == DATA and bool(head & FIN)
                at += 8 + (head >> 8)
        return data


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


def test_many_expensive_policies_in_one_write_delay_no_client_of_others(edge: RunningEdge, agents: Start) -> None:
    canary = connected(agents, "seamark", edge)
    _, made = edge.api("POST", "/credentials", {"description": "sends expensive policies"})
    took: list[float] = []
    over = threading.Event()
    with service(echo) as upstream:
        url = canary.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]

        def ask() -> None:
            while not over.is_set():
                began = time.monotonic()
                with dial(url) as client:
                    client.sendall(b"ping")
                    assert client.recv(100) == b"ping"
                took.append(time.monotonic() - began)
                time.sleep(0.01)

        asking = threading.Thread(target=ask)
        asking.start()
        attacker = RawAgent(edge, made["token"])
        attacker.answers(1)
        eventually(lambda: len(took) >= 100, "latencies without load are known")
        quiet = p99(took)
        took.clear()
        policies = [f"{NESTED}  # {number}" for number in range(BINDS)]
        bodies = [{"Proto": "tcp", "Opts": {"TrafficPolicy": policy}, "Extra": {}} for policy in policies]
        attacker.connection.sendall(b"".join(attacker.request(BIND, body) for body in bodies))
        answered = attacker.answers(BINDS)
        over.set()
        asking.join()
        attacker.connection.close()
    assert answered.count(b"ERR_NGROK_2201") + answered.count(b"ERR_NGROK_429") == BINDS
    assert p99(took) < 0.25 + 4 * quiet  # a busy machine is slow without the attacker, too
