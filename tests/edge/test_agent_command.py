"""`seamark agent` as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seamark.cli.agent import parse_forward, token
from seamark_edge.agent.endpoints import read_manifests
from seamark_runtime.errors import UserError
from tests.edge.running import RunningEdge
from tests.edge.services import dial, eventually, read_all, says, service

MANIFESTS = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: other}}
---
apiVersion: ngrok.k8s.ngrok.com/v1alpha1
kind: AgentEndpoint
metadata: {{name: web, namespace: shop}}
spec:
  url: tcp://{address}
  upstream: {{url: "tcp://{upstream}"}}
  metadata: {{team: a}}
  trafficPolicy:
    inline: {{on_tcp_connect: [{{actions: [{{type: restrict-ips, config: {{allow: [127.0.0.0/8]}}}}]}}]}}
"""


@contextmanager
def agent(edge: RunningEdge, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = ["--server", edge.address, "--ca", edge.ca, "--log-level", "warning", *arguments]
    process = subprocess.Popen(
        [sys.executable, "-c", "from seamark.cli.agent import app; app()", *command],
        env={**os.environ, "SEAMARK_AGENT_TOKEN": edge.token},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()


def test_the_url_is_printed_and_reached_and_gone_after_a_stop(edge: RunningEdge) -> None:
    with service(says(b"hello")) as upstream:
        with agent(edge, "--forward", f"tcp://={upstream}") as process:
            assert process.stdout is not None
            url, arrow, target = process.stdout.readline().split()
            assert (arrow, target) == ("->", upstream)
            with dial(url) as client:
                assert read_all(client) == b"hello"
        assert process.returncode == 0

        def gone() -> bool:
            try:
                dial(url, 1).close()
            except ConnectionRefusedError:
                return True
            return False

        eventually(gone, "the endpoint is offline")


def test_replicas_share_the_endpoints_of_their_manifests(edge: RunningEdge, tmp_path: Path) -> None:
    _, address = edge.api("POST", "/reserved_addrs", {})
    with service(says(b"one")) as one, service(says(b"two")) as two:
        for name, upstream in (("one", one), ("two", two)):
            (tmp_path / name).write_text(MANIFESTS.format(address=address["addr"], upstream=upstream))
        with (
            agent(edge, "--endpoints", str(tmp_path / "one")) as first,
            agent(edge, "--endpoints", str(tmp_path / "two")) as second,
        ):
            for process in (first, second):
                assert process.stdout is not None
                assert process.stdout.readline().startswith(f"tcp://{address['addr']} -> ")
            answers = set()
            for _ in range(4):
                with dial(f"tcp://{address['addr']}") as client:
                    answers.add(read_all(client))
            assert answers == {b"one", b"two"}
            (seen, _) = [e for e in edge.api("GET", "/endpoints")[1]["endpoints"] if e["hostport"] == address["addr"]]
            assert (seen["metadata"], seen["pooling_enabled"]) == ('{"team":"a"}', True)


def test_mistakes_are_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEAMARK_AGENT_TOKEN", raising=False)
    with pytest.raises(UserError, match="no authtoken"):
        token("")
    with pytest.raises(UserError, match="is no forward"):
        parse_forward("8080", pooling=False)
    with pytest.raises(UserError, match="can't be read"):
        read_manifests(tmp_path / "missing")
    manifest = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "AgentEndpoint", "metadata": {"name": "web"}}
    spec = {"url": "tcp://", "upstream": {"url": "tcp://a:1"}, "trafficPolicy": {"targetRef": {"name": "x"}}}
    (tmp_path / "dangling").write_text(json.dumps({**manifest, "spec": spec}))
    with pytest.raises(UserError, match="NgrokTrafficPolicy x does not exist"):
        read_manifests(tmp_path / "dangling")
    (tmp_path / "bad").write_text(json.dumps({**manifest, "spec": {}}))
    with pytest.raises(UserError, match="can't be read"):
        read_manifests(tmp_path / "bad")
