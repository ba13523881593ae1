"""Bindings: operators with signed certificates, selectors, and the preamble in front of the bytes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from seamark_edge.edge import authority
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.process.server import Edge
from seamark_edge.wire.bindings import ConnRequest, ConnResponse, PodIdentity, PreambleReader, frame
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import echo, eventually, free_port, service
from tests.edge.tls import pair, signing_request


class Operator:
    """A cluster's registration, and connections with its certificate."""

    def __init__(self, edge: RunningEdge, directory: Path, *selectors: str) -> None:
        self.edge = edge
        self.directory = directory
        csr, key = signing_request()
        binding = {"endpoint_selectors": list(selectors), "csr": csr}
        status, self.told = edge.api(
            "POST", "/kubernetes_operators", {"enabled_features": ["bindings"], "binding": binding}
        )
        assert status == 201, self.told
        (directory / "key.pem").write_bytes(key)
        (directory / "cert.pem").write_text(self.told["binding"]["cert"]["cert"])

    @property
    def id(self) -> str:
        ident: str = self.told["id"]
        return ident

    def bound(self) -> list[str]:
        _, page = self.edge.api("GET", f"/kubernetes_operators/{self.id}/bound_endpoints")
        return [endpoint["public_url"] for endpoint in page["endpoints"]]

    @contextmanager
    def dial(self, request: bytes) -> Iterator[tuple[ssl.SSLSocket, ConnResponse, bytes]]:
        context = ssl.create_default_context(cafile=self.edge.ca)
        context.load_cert_chain(self.directory / "cert.pem", self.directory / "key.pem")
        raw = socket.create_connection(("127.0.0.1", self.edge.ports["ingress_port"]), 10)
        with context.wrap_socket(raw, server_hostname="127.0.0.1") as connection:
            connection.sendall(request)
            reader, body = PreambleReader(), None
            while body is None:
                data = connection.recv(1000)
                if not data:
                    raise ConnectionAbortedError("closed without an answer")
                body = reader.feed(data)
            yield connection, ConnResponse.decode(body), reader.rest


@pytest.fixture
def operator(edge: RunningEdge, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    return Operator(edge, tmp_path_factory.mktemp("operator"), "ep.metadata == 'for the cluster'")


@pytest.fixture
def bound(edge: RunningEdge, agents: Callable[[str], AgentProgram]) -> Iterator[dict[str, Any]]:
    """An endpoint in the cluster's own address space, held by an agent on the Go SDK."""
    agent = agents("go")
    agent.must("connect", **edge.connection())
    with service(echo) as upstream:
        yield agent.must(
            "forward",
            url="tcp://db.prod:5432",
            upstream=f"tcp://{upstream}",
            bindings=["kubernetes"],
            metadata="for the cluster",
            pooling=True,
        )


def test_a_forwarder_reaches_the_endpoint_that_its_selectors_choose(
    edge: RunningEdge, operator: Operator, bound: dict[str, Any]
) -> None:
    assert operator.bound() == [bound["url"]]
    pod = PodIdentity("0-1-2", "client-7d4", "shop")
    with operator.dial(frame(ConnRequest("db.prod", 5432, pod)) + b"early ") as (connection, answer, rest):
        assert (answer.error_code, answer.proto) == ("", "tcp")
        assert answer.endpoint_id.startswith("ep_")
        connection.sendall(b"and late")
        got = rest
        while len(got) < len(b"early and late"):
            got += connection.recv(100)
        assert got == b"early and late"
    eventually(lambda: "shop/client-7d4" in edge.log, "the pod is in the log")


def test_an_endpoint_that_no_selector_chooses_is_not_there(
    edge: RunningEdge, bound: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    stranger = Operator(edge, tmp_path_factory.mktemp("stranger"), "ep.metadata == 'for another'")
    assert stranger.bound() == []
    with stranger.dial(frame(ConnRequest("db.prod", 5432))) as (_, answer, _):
        assert answer.error_code == "ERR_NGROK_3200"
        assert "db.prod:5432" in answer.error_message


def test_bytes_that_are_no_preamble_are_answered_with_an_error(operator: Operator) -> None:
    with operator.dial(b"\x04\x00\xff\xff\xff\xff") as (_, answer, _):
        assert answer.error_code == "ERR_NGROK_400"


def test_a_certificate_of_somebody_else_does_not_get_in(operator: Operator) -> None:
    certificate, key = pair("operator")
    (operator.directory / "cert.pem").write_bytes(certificate)
    (operator.directory / "key.pem").write_bytes(key)
    with (
        pytest.raises((ssl.SSLError, ConnectionError)),
        operator.dial(frame(ConnRequest("db.prod", 5432))),
    ):
        pass


def test_a_certificate_is_worthless_once_its_operator_got_a_newer_one(edge: RunningEdge, operator: Operator) -> None:
    """The remedy against a stolen certificate: register a new key."""
    status, told = edge.api("PATCH", f"/kubernetes_operators/{operator.id}", {"binding": {"csr": signing_request()[0]}})
    assert status == 200
    assert told["binding"]["endpoint_selectors"] == ["ep.metadata == 'for the cluster'"]
    with operator.dial(frame(ConnRequest("db.prod", 5432))) as (_, answer, _):
        assert answer.error_code == "ERR_NGROK_401"


def test_the_answer_names_the_ingress_and_the_certificates_life(edge: RunningEdge, operator: Operator) -> None:
    binding = operator.told["binding"]
    assert binding["ingress_endpoint"] == f"127.0.0.1:{edge.ports['ingress_port']}"
    assert binding["cert"]["not_before"] < binding["cert"]["not_after"]


@pytest.mark.parametrize(
    "binding",
    [{"endpoint_selectors": ["ep.metadata =="]}, {"csr": "no csr"}, {"endpoint_selectors": "true"}],
    ids=["not CEL", "not a CSR", "not a list"],
)
def test_a_binding_that_cant_be_is_refused(edge: RunningEdge, binding: dict[str, Any]) -> None:
    status, told = edge.api("POST", "/kubernetes_operators", {"binding": binding})
    assert (status, told["status_code"]) == (400, 400)


def test_an_expired_certificate_does_not_get_in(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edge in this process, whose authority signs for a moment that is over."""
    directory = tmp_path_factory.mktemp("expired")
    settings = EdgeSettings(
        state=str(directory / "edge.db"), agent_port=free_port(), api_port=free_port(), ingress_port=free_port()
    )

    async def case() -> None:
        running = Edge(settings)
        await running.start()
        csr, key = signing_request()
        monkeypatch.setattr(authority, "LEAF_DAYS", -0.001)
        certificate = running.authority.sign(csr, "k8sop_1")
        monkeypatch.undo()
        (directory / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (directory / "key.pem").write_bytes(key)
        context = ssl.create_default_context(cafile=str(directory / "ca.pem"))
        context.load_cert_chain(directory / "cert.pem", directory / "key.pem")
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", settings.ingress_port, ssl=context, server_hostname="127.0.0.1"
            )
            writer.write(frame(ConnRequest("db.prod", 5432)))
            with suppress(OSError):
                assert await reader.read(100) == b""
            writer.close()
        finally:
            await running.stop()

    asyncio.run(case())
