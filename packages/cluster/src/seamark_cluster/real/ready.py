"""Polling a component until it is ready."""

from __future__ import annotations

import dataclasses
import http.client
import ssl
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from seamark_cluster.real.process import Component
from seamark_runtime.errors import UserError

POLL = 0.02
ANSWER_WITHIN = 5.0


@dataclasses.dataclass(frozen=True)
class Probe:
    """A readiness endpoint of one component: 200 is ready, any other response or none is not yet."""

    component: Component
    address: str
    path: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def problem(self, trust: ssl.SSLContext) -> str:
        """Why it is not ready; empty if it is."""
        connection = http.client.HTTPSConnection(self.address, timeout=ANSWER_WITHIN, context=trust)
        try:
            connection.request("GET", self.path, headers=dict(self.headers))
            answer = connection.getresponse()
            body = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return str(error)
        finally:
            connection.close()
        return "" if answer.status == 200 else _failed_checks(body)


def wait_all(probes: Sequence[Probe], ca: Path, seconds: float) -> None:
    """Returns when all are ready; a component that ended meanwhile raises an error with the end of its log."""
    trust = ssl.create_default_context(cafile=str(ca))
    deadline = time.monotonic() + seconds
    for probe in probes:
        while reason := probe.problem(trust):
            component = probe.component
            if not component.alive:
                raise UserError(f"{component.name} died: {component.log_tail()}")
            if time.monotonic() > deadline:  # its log is removed when the start fails, so its end is in the message
                raise UserError(
                    f"{component.name} is not ready after {seconds:g} s ({reason}); it says: {component.log_tail()}",
                    hint="a machine with too little memory or processor time is the usual cause",
                )
            time.sleep(POLL)


def _failed_checks(body: str) -> str:
    failed = [line.removeprefix("[-]").split()[0] for line in body.splitlines() if line.startswith("[-]")]
    return ", ".join(failed) or body.strip()[:200]
