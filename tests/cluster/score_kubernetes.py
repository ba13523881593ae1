"""What a kubelet and the controllers of others would do for a Workload, done by a test."""

from __future__ import annotations

from typing import Any

from seamark.families.score.family import runtime_controllers, without_runtime
from seamark.families.score.model.options import Options, Pace
from seamark.families.score.workloadexposure.state import Dial, Lookup, PortRefused, Probe
from seamark_runtime.controller import Declaration
from seamark_runtime.resolver import Resolver
from tests.cluster.requests import request
from tests.cluster.score_operator import MERGE, Cluster

ADDRESS = "10.0.0.1"  # of every Pod


class Listening:
    """What becomes of connections to Pods; a host name has an address."""

    def __init__(self) -> None:
        self.refused = False

    async def attempt(self, action: Probe | Lookup | Dial) -> bool:
        if self.refused and not isinstance(action, Lookup):
            raise PortRefused("Connections to port 8080 are refused")
        return True

    def controllers(self) -> tuple[Declaration, ...]:
        """The whole family, with a runtime that is in the Pod network."""
        runtime = runtime_controllers(Options(pod_network=True, pace=Pace(probe=1.0)), Resolver(), attempt=self.attempt)
        return (*without_runtime(), *runtime)


class Kubernetes(Cluster):
    """Beside what a developer does: what a kubelet would."""

    def object(self, path: str) -> dict[str, Any]:
        answer = request(self.plane, "GET", self.there(path))
        return answer.body if answer.code == 200 else {}

    def there(self, path: str) -> str:
        group, _, rest = path.partition(":")
        versioned = group if "/" in group else f"{group}/v1"
        root = "/api/v1" if group == "core" else f"/apis/{versioned}"
        return f"{root}/namespaces/{self.namespace}/{rest}"

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = request(self.plane, "GET", self.there("core:pods")).body["items"]
        return found

    def pods_are(self, ready: str) -> None:
        self.until(lambda: bool(self.pods()), "a pod")
        for pod in self.pods():
            status = {"phase": "Running", "podIP": ADDRESS, "conditions": [{"type": "Ready", "status": ready}]}
            path = f"{self.there('core:pods')}/{pod['metadata']['name']}/status"
            assert request(self.plane, "PATCH", path, {"status": status}, content_type=MERGE).code == 200

    def make(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        made = request(self.plane, "POST", self.there(path), body)
        assert made.code == 201, made.body
        return made.body

    def status(self, path: str, status: dict[str, Any]) -> None:
        """What another controller says in the status of one of its objects."""
        said = request(self.plane, "PATCH", f"{self.there(path)}/status", {"status": status}, content_type=MERGE)
        assert said.code == 200, said.body

    def exposures(self) -> list[dict[str, Any]]:
        """What the runtime has published, in its order."""
        found: list[dict[str, Any]] = (self.get("workloadexposures").get("status") or {}).get("exposures") or []
        return found

    def runtime_condition(self, condition: str) -> dict[str, Any]:
        conditions = (self.get("workloadexposures").get("status") or {}).get("conditions") or ()
        return next((one for one in conditions if one["type"] == condition), {})
