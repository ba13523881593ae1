"""The forwarder between a Pod's connection and a real edge; the API server is the embedded one, all in this process."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from seamark.families.bindings.family import CRDS
from seamark.families.bindings.remote import NotConfirmed, connect
from seamark.providers.edge.seamark import seamark_edge
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_edge.agent import Agent, AgentSettings, Tunnel
from seamark_edge.edge import ingress
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.forwarder.forwarder import Forwarder
from seamark_edge.forwarder.identity import UNKNOWN
from seamark_edge.forwarder.settings import ForwarderSettings
from seamark_edge.model import OperatorSpec, Owner
from seamark_edge.process.server import Edge
from seamark_edge.wire.bindings import PROBE, PROBED
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.edge.services import echo, free_port, says, sends, service
from tests.edge.tls import signing_request

HOME = "seamark-system"
BOUND = "/apis/bindings.k8s.ngrok.com/v1alpha1/namespaces/seamark-system/boundendpoints"
OPERATOR = "/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces/seamark-system/kubernetesoperators"


class Stand:
    """An edge, an agent, an API server and a forwarder."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.settings = EdgeSettings(
            state=str(directory / "edge.db"), agent_port=free_port(), api_port=free_port(), ingress_port=free_port()
        )
        self.edge = Edge(self.settings)
        self.store = Store()
        self.forwarder: Forwarder
        self.agent: Agent

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = b"" if body is None else json.dumps(body).encode()
        answer = await EmbeddedTransport(self.store).send(HttpRequest(method, received_path(path), {}, data, media))
        assert answer.status < 300, answer.body
        return json.loads(answer.body)

    async def register(self) -> None:
        """As the operator does it: a signed certificate, in a Secret."""
        csr, key = signing_request()
        api_key = (self.directory / "api-key").read_text().strip()
        edge = seamark_edge(f"http://127.0.0.1:{self.settings.api_port}", api_key)
        made = await edge.register(Owner("cluster", HOME, "seamark", "uid"), OperatorSpec(("true",), csr))
        await edge.close()
        pair = {"tls.crt": made.certificate.encode(), "tls.key": key}
        pair["ca.crt"] = self.edge.authority.ca_pem
        data = {name: base64.b64encode(value).decode() for name, value in pair.items()}
        path = f"/api/v1/namespaces/{HOME}/secrets"
        await self.ask("POST", path, {"metadata": {"name": "default-tls"}, "type": "kubernetes.io/tls", "data": data})
        head = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "KubernetesOperator"}
        spec = {"binding": {"endpointSelectors": ["true"]}}
        await self.ask("POST", OPERATOR, {**head, "metadata": {"name": "seamark"}, "spec": spec})
        status = {"bindingsIngressEndpoint": f"127.0.0.1:{self.settings.ingress_port}"}
        await self.ask("PATCH", f"{OPERATOR}/seamark/status", {"status": status})

    async def bind(self, name: str, port: int, listen: int) -> None:
        target = {"service": name, "namespace": "shop", "port": port}
        spec = {"endpointURL": f"tcp://{name}.shop:{port}", "scheme": "tcp", "port": listen, "target": target}
        head = {"apiVersion": "bindings.k8s.ngrok.com/v1alpha1", "kind": "BoundEndpoint"}
        await self.ask("POST", BOUND, {**head, "metadata": {"name": name}, "spec": spec})

    async def hold(self, name: str, port: int, upstream: str) -> None:
        tunnel = Tunnel(f"tcp://{name}.shop:{port}", upstream, bindings=("kubernetes",), pooling=True)
        held = await self.agent.hold(name, tunnel)
        await until(lambda: bool(held.url), held.error)

    def metric(self, name: str) -> float:
        return self.forwarder.metrics.registry.get_sample_value(name) or 0.0


async def until(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def standing(directory: Path) -> AsyncIterator[Stand]:
    stand = Stand(directory)
    await stand.edge.start()
    for name in (HOME, "shop"):
        await stand.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    for crd in CRDS:
        await stand.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd.manifest())
    await stand.register()
    token = (directory / "agent-token").read_text().strip()
    stand.agent = Agent(AgentSettings(f"127.0.0.1:{stand.settings.agent_port}", token, str(directory / "ca.pem")))
    settings = ForwarderSettings(forwarder_bind="127.0.0.1", forwarder_connect_seconds=5, forwarder_drain_seconds=5)
    stand.forwarder = Forwarder(EmbeddedTransport(stand.store), settings)
    working = [asyncio.ensure_future(stand.agent.run()), asyncio.ensure_future(stand.forwarder.run())]
    try:
        await until(stand.agent.connected.is_set, "the agent is connected")
        await until(lambda: not stand.forwarder.missing(), "the forwarder is ready")
        yield stand
    finally:
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await stand.edge.stop()


def story(directory: Path, tell: Callable[[Stand], Awaitable[None]]) -> None:
    async def program() -> None:
        async with standing(directory) as stand:
            await tell(stand)

    asyncio.run(program())


async def talk(port: int, said: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(said)
        async with asyncio.timeout(20):
            return await reader.read(1000)
    finally:
        writer.close()


def test_bytes_go_to_the_agent_and_back_and_sessions_are_resumed(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        listen = free_port()
        with service(echo) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            for _ in range(3):
                assert await talk(listen, b"hello") == b"hello"
            assert stand.metric("seamark_forwarder_resumed_total") == 2
            assert stand.metric("seamark_forwarder_unidentified_total") == 3

    story(tmp_path, tell)


def test_a_pod_is_named_by_its_address_and_otherwise_it_is_said_that_nobody_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    keep = ingress.IngressConnection
    original = keep._serve

    def serve(self: Any, request: Any) -> Iterator[None]:
        asked.append(request)
        return original(self, request)

    monkeypatch.setattr(keep, "_serve", serve)

    async def tell(stand: Stand) -> None:
        listen = free_port()
        with service(echo) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            await talk(listen, b"hello")
            pod = {"metadata": {"name": "client", "annotations": {"k8s.ngrok.com/team": "a", "other": "b"}}}
            container = {"containers": [{"name": "main", "image": "x"}]}
            made = await stand.ask("POST", "/api/v1/namespaces/shop/pods", {**pod, "spec": container})
            status = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
            await stand.ask("PATCH", "/api/v1/namespaces/shop/pods/client/status", {"status": status})
            await until(lambda: bool(len(stand.forwarder.pods.cache)), "the Pod is known")
            await asyncio.sleep(0.1)
            await talk(listen, b"hello")
            nobody, somebody = (request.pod for request in asked)
            assert (nobody.uid, nobody.annotations) == ("", {UNKNOWN: "unknown: no Pod has the address 127.0.0.1"})
            assert (somebody.name, somebody.namespace) == ("client", "shop")
            assert somebody.uid == made["metadata"]["uid"]
            assert somebody.annotations == {"k8s.ngrok.com/team": "a"}

    story(tmp_path, tell)


async def probe(port: int) -> str:
    """What the operator's probe finds there: "" for success."""
    try:
        async with asyncio.timeout(10):
            await connect("127.0.0.1", port)
    except NotConfirmed:
        return "not confirmed"
    except OSError as error:
        return str(error)
    return ""


def test_a_probe_succeeds_only_while_the_far_upstream_accepts(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        listen, gone = free_port(), "the far upstream did not accept: Connection refused"
        with service(echo) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            assert await probe(listen) == ""
            assert await talk(listen, b"hello") == b"hello"
            assert await asyncio.gather(*(probe(listen) for _ in range(20))) == [""] * 20
            assert await talk(listen, PROBE[:-1]) == PROBE[:-1]  # of a Pod: bytes like any other
        assert await probe(listen) == gone
        await stand.agent.release("db")
        assert (await probe(listen)).startswith("the edge refused: ")
        await until(lambda: stand.forwarder.open_connections == 0, "nothing is left open")

    story(tmp_path, tell)


def test_a_probe_whose_bytes_come_after_the_connection_was_joined_is_answered_all_the_same(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        listen = free_port()
        with service(says(b"a greeting")) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            reader, writer = await asyncio.open_connection("127.0.0.1", listen)
            assert await reader.readexactly(10) == b"a greeting"
            writer.close()
        with service(echo) as upstream:
            await stand.hold("db", 5432, upstream)
            reader, writer = await asyncio.open_connection("127.0.0.1", listen)
            await asyncio.sleep(0.5)
            writer.write(PROBE)
            async with asyncio.timeout(10):
                assert await reader.readexactly(len(PROBED)) == PROBED
            writer.close()

    story(tmp_path, tell)


def test_a_probe_fails_while_the_edge_is_not_reached(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        listen, frozen = free_port(), socket.create_server(("127.0.0.1", free_port()))
        with service(echo) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            assert await probe(listen) == ""
            port = frozen.getsockname()[1]  # its kernel accepts, and no process answers
            status = {"bindingsIngressEndpoint": f"127.0.0.1:{port}"}
            await stand.ask("PATCH", f"{OPERATOR}/seamark/status", {"status": status})
            await until(lambda: stand.forwarder._ingress == f"127.0.0.1:{port}", "it dials the other")
            assert await probe(listen) == "the forwarder did not reach the edge: the edge did not answer in time"
        frozen.close()

    story(tmp_path, tell)


def test_listeners_come_and_go_with_objects_and_a_port_leads_where_its_object_says_now(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        listen = free_port()
        with service(echo) as upstream:
            await stand.hold("one", 1000, upstream)
            await stand.bind("one", 1000, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            assert await talk(listen, b"hello") == b"hello"
            await stand.ask("DELETE", f"{BOUND}/one")
            await until(lambda: listen not in stand.forwarder.listeners.ports, "it no longer listens")
            with pytest.raises(ConnectionRefusedError):
                await talk(listen, b"hello")
            await stand.bind("two", 2000, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens again")
            with pytest.raises(ConnectionResetError):  # no agent holds it: and it is not the old one's
                await talk(listen, b"hello")

    story(tmp_path, tell)


def test_a_port_that_is_taken_holds_up_no_other_and_is_had_when_it_is_free(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        taken, free = free_port(), free_port()
        with service(echo) as upstream:
            await stand.hold("db", 5432, upstream)
            squatter = socket.create_server(("127.0.0.1", taken))
            await stand.bind("taken", 5431, taken)
            await stand.bind("db", 5432, free)
            await until(lambda: free in stand.forwarder.listeners.ports, "the other listens")
            assert "in use" in stand.forwarder.listeners.troubles[taken].lower()
            assert await talk(free, b"hello") == b"hello"
            squatter.close()
            await until(lambda: taken in stand.forwarder.listeners.ports, "it has its port")

    story(tmp_path, tell)


def test_many_bytes_arrive_whole_at_a_slow_reader(tmp_path: Path) -> None:
    """Backpressure: what the reader does not take is held back at its source, not in our memory."""
    size = 32 * 1024 * 1024

    async def tell(stand: Stand) -> None:
        listen = free_port()
        with service(sends(size)) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            reader, writer = await asyncio.open_connection("127.0.0.1", listen, limit=64 * 1024)
            writer.write(b"!")
            await asyncio.sleep(0.5)
            got = 0
            while data := await reader.read(1 << 20):
                got += len(data)
            assert got == size
            writer.close()

    story(tmp_path, tell)


def test_a_pod_that_has_said_all_still_gets_its_answer(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        listen = free_port()
        with service(sends(100_000)) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            reader, writer = await asyncio.open_connection("127.0.0.1", listen)
            writer.write(b"!")
            writer.write_eof()
            assert len(await reader.readexactly(100_000)) == 100_000
            writer.close()

    story(tmp_path, tell)


def test_an_agent_that_goes_away_closes_the_connection_and_a_stop_drains(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        listen = free_port()
        with service(echo) as upstream:
            await stand.hold("db", 5432, upstream)
            await stand.bind("db", 5432, listen)
            await until(lambda: listen in stand.forwarder.listeners.ports, "it listens")
            reader, writer = await asyncio.open_connection("127.0.0.1", listen)
            writer.write(b"one")
            assert await reader.read(10) == b"one"
            assert stand.forwarder.open_connections == 1
            stand.agent.stop()
            with suppress(ConnectionResetError):
                async with asyncio.timeout(20):
                    assert await reader.read(10) == b""
            writer.close()
            await until(lambda: stand.forwarder.open_connections == 0, "nothing is left open")

    story(tmp_path, tell)


def test_a_certificate_that_cant_be_used_is_told_and_refuses(tmp_path: Path) -> None:
    async def tell(stand: Stand) -> None:
        broken = {"data": {"tls.crt": base64.b64encode(b"nonsense").decode()}}
        await stand.ask("PATCH", f"/api/v1/namespaces/{HOME}/secrets/default-tls", broken)
        other = Forwarder(EmbeddedTransport(stand.store), stand.forwarder.settings)
        work = asyncio.ensure_future(other.run())
        words = f"the certificate in Secret {HOME}/default-tls can't be used"
        await until(lambda: any(words in one for one in other.missing()), "it says so")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    story(tmp_path, tell)
