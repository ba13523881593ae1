"""The guide's lines do what the guide says, as they stand there; only the ports are the test's."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edge.running import RunningEdge
from tests.edge.sdks import PYTHON_SDK, python_of
from tests.edge.services import dial, eventually, free_port, read_all

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "edge.md").read_text()
PROGRAMS = {"seamark": [sys.executable, "-c", "from seamark.cli.main import app; app()"], "python3": [sys.executable]}


def blocks(language: str) -> list[str]:
    section = GUIDE.partition("## In ten lines")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


class Shell:
    """Runs the guide's commands in a directory, with ports of its own in place of the guide's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        low = free_port(101)
        self.ports = {"4443": free_port(), "4040": free_port(), "8080": free_port()}
        self.environment = {
            **os.environ,
            "SEAMARK_EDGE_AGENT_PORT": str(self.ports["4443"]),
            "SEAMARK_EDGE_API_PORT": str(self.ports["4040"]),
            "SEAMARK_EDGE_TCP_PORTS": f"{low}-{low + 100}",
            "SEAMARK_EDGE_DRAIN_SECONDS": "0",
        }
        self.running: list[subprocess.Popen[str]] = []

    def with_ports(self, text: str) -> str:
        return re.sub("|".join(self.ports), lambda found: str(self.ports[found[0]]), text)

    def run(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.running.append(process)
        return process

    def line(self, text: str) -> subprocess.Popen[str]:
        program, *arguments = shlex.split(self.with_ports(text).removesuffix(" &"))
        return self.run(*PROGRAMS[program], *arguments)

    def close(self) -> None:
        for process in self.running:
            process.terminate()
            process.wait(20)
            if process.stdout is not None:
                process.stdout.close()


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    directory = tmp_path_factory.mktemp("guide")
    (directory / "index.html").write_text("reached")
    running = Shell(directory)
    yield running
    running.close()


def fetch(url: str) -> bytes:
    with dial(url) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return read_all(client)


def test_the_lines_of_the_guide_reach_a_local_service(shell: Shell) -> None:
    commands = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    (program,) = blocks("python")
    assert len([line for line in program.splitlines() if line.strip()]) + len(commands[:1]) == 10
    edge = shell.line(commands[0])
    shell.line(commands[1])
    assert edge.stdout is not None
    said = [edge.stdout.readline().split(":")[0] for _ in range(5)]
    assert said == ["agents", "ca file", "authtoken", "api", "api key"]
    eventually(lambda: fetch(f"tcp://127.0.0.1:{shell.ports['8080']}"), "the service is up", 30)
    official = shell.run(str(python_of(*PYTHON_SDK)), "-c", shell.with_ports(program))
    assert official.stdout is not None
    assert fetch(official.stdout.readline().strip()).endswith(b"reached")
    ours = shell.line(commands[2])
    assert ours.stdout is not None
    assert fetch(ours.stdout.readline().split()[0]).endswith(b"reached")


def test_the_edge_prints_what_an_agent_needs(edge: RunningEdge) -> None:
    assert edge.said == [
        f"agents:    {edge.address}",
        f"ca file:   {edge.ca}",
        f"authtoken: {edge.token}",
        f"api:       {edge.api_url}",
        f"api key:   {edge.api_key}",
    ]
