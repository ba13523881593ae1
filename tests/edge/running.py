"""An edge as a process of its own, as people run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from seamark_edge.edge.settings import PREFIX
from tests.edge.services import eventually, free_port, give_back


class RunningEdge:
    """`seamark edge` on ports of its own. `restart` keeps state and ports; `kill` is SIGKILL."""

    def __init__(self, state: Path, **settings: object) -> None:
        self.state = state
        self.host = str(settings.get("bind", "127.0.0.1"))
        low = free_port(101)
        self.ports = {
            name: free_port()
            for name in ("agent_port", "api_port", "ops_port", "http_port", "tls_port", "ingress_port")
        }
        given = {**self.ports, "tcp_ports": f"{low}-{low + 100}", "state": str(state), "drain_seconds": 5, **settings}
        self._environment = {f"{PREFIX}{name.upper()}": str(value) for name, value in given.items()}
        state.mkdir(parents=True, exist_ok=True)
        self._log = (state / "log").open("ab")
        self._low = low
        self.process: subprocess.Popen[str]
        self.start()

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self._environment}

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from seamark.cli.edge import app; app()"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = [self.process.stdout.readline().rstrip() for _ in range(5)]
        eventually(lambda: self.get("/readyz") == "ready\n", "the edge is ready")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self._reap()

    def close(self) -> None:
        self.stop()
        self._log.close()
        give_back(self._low, 101)
        for port in self.ports.values():
            give_back(port)

    def _reap(self) -> None:
        self.process.wait(20)
        if self.process.stdout is not None:
            self.process.stdout.close()

    @property
    def address(self) -> str:
        return f"{self.host}:{self.ports['agent_port']}"

    @property
    def ca(self) -> str:
        return str(self.state / "ca.pem")

    @property
    def token(self) -> str:
        return (self.state / "agent-token").read_text().strip()

    @property
    def api_url(self) -> str:
        return f"http://{self.host}:{self.ports['api_port']}"

    @property
    def api_key(self) -> str:
        return (self.state / "api-key").read_text().strip()

    @property
    def log(self) -> str:
        return (self.state / "log").read_text()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://{self.host}:{self.ports['ops_port']}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def api(self, method: str, path: str, body: object = None, key: str = "") -> tuple[int, Any]:
        request = urllib.request.Request(
            self.api_url + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"authorization": f"Bearer {key or self.api_key}", "ngrok-version": "2"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                raw = answer.read()
                return answer.status, json.loads(raw) if raw else None
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def connection(self) -> dict[str, str]:
        """What an agent program connects with."""
        return {"address": self.address, "ca": self.ca, "token": self.token}
