"""The agent and the forwarder follow the same kinds as the operator: no object ends them, no name leads them astray."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from seamark_edge.agent.cluster import ClusterEndpoints
from seamark_edge.forwarder.forwarder import Forwarder
from seamark_edge.forwarder.settings import ForwarderSettings
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.transport import Answer, HttpRequest
from tests.unit.operator.providers.edge.test_cluster import Hand
from tests.unit.runtime.scripted import HANG, ScriptedStream, bookmark, failed, line
from tests.unit.runtime.test_untrusted_names import VICTIM
from tests.unit.runtime.test_untrusted_objects import event, nested
from tests.virtual_time import run


class Server:
    """Its lists contain what the test says, by the plural of the kind; it has no other object."""

    def __init__(self, **listed: list[bytes]) -> None:
        self._listed = listed
        self.asked: list[str] = []

    async def send(self, request: HttpRequest) -> Answer:
        self.asked.append(request.path)
        return failed(404, "NotFound")

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ScriptedStream]:
        found = self._listed.get(request.path.rpartition("/")[2], [])
        yield ScriptedStream(200, [*found, bookmark(100, initial=True), HANG])

    async def close(self) -> None:
        pass


def endpoint(name: str, **spec: Any) -> bytes:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "1", "generation": 1}
    return line("ADDED", {"metadata": metadata, "spec": {"url": "tcp://", "upstream": {"url": "tcp://web:80"}, **spec}})


def alive(work: Coroutine[Any, Any, None], seconds: float = 60) -> None:
    async def program() -> None:
        task = asyncio.get_running_loop().create_task(work)
        await asyncio.sleep(seconds)
        assert not task.done(), task.exception()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(program())


def test_objects_nested_too_deep_do_not_end_the_agent_and_the_others_are_held() -> None:
    bad = event("ADDED", nested("bad", 2))
    server, hand = Server(agentendpoints=[bad, endpoint("good")], ngroktrafficpolicies=[bad]), Hand()
    source = ClusterEndpoints(Client(server, manager="agent"), Random(1), "cluster")
    alive(source.run(hand))
    assert list(hand.held) == ["ns/good"]


def test_a_certificate_named_by_a_path_is_refused_by_the_agent_and_no_request_is_sent() -> None:
    termination = {"serverCertificateRef": {"name": VICTIM}}
    server, hand = Server(agentendpoints=[endpoint("bad", url="tls://a.b", tlsTermination=termination)]), Hand()
    source = ClusterEndpoints(Client(server, manager="agent"), Random(1), "cluster")
    alive(source.run(hand))
    assert (hand.held, server.asked) == ({}, [])
    assert "is not a valid name" in source.problems[Key("ns", "bad")]


def test_objects_nested_too_deep_do_not_end_the_forwarder() -> None:
    bad = event("ADDED", nested("bad", 2))
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "1", "resourceVersion": "1"}, "status": {}}
    server = Server(boundendpoints=[bad], kubernetesoperators=[bad], pods=[bad, line("ADDED", pod)])
    made = Forwarder(server, ForwarderSettings())
    alive(made.run())
    assert [obj.key.name for obj in made.pods.cache] == ["p"]
    assert [len(one.broken) for one in (made.endpoints, made.operators, made.pods)] == [1, 1, 1]
