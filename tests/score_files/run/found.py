"""What a user finds of one namespace at a moment: read once, and looked up by every check of an expectation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.api.score import Workload, WorkloadExposure
from seamark_runtime.api.apps import Deployment, StatefulSet
from seamark_runtime.api.core import Pod, Service
from tests.score_files.run.cluster import Cluster

KINDS = (Workload, WorkloadExposure, Deployment, StatefulSet, Service, Pod)

Json = dict[str, Any]


@dataclass
class Found:
    """Objects by kind and name; Pods of a Workload; what commands in containers have given, each asked once."""

    cluster: Cluster
    namespace: str
    objects: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)  # by workload/container/VARIABLE
    earlier: Mapping[str, str] = field(default_factory=dict)  # the same, as it was in the expectation before

    def get(self, kind: str, name: str) -> Json | None:
        return self.objects.get(kind, {}).get(name)

    def condition(self, workload: str, type_: str) -> Json | None:
        conditions = ((self.get("Workload", workload) or {}).get("status") or {}).get("conditions") or ()
        return next((condition for condition in conditions if condition["type"] == type_), None)

    def ready(self, workload: str) -> bool:
        """For the present generation."""
        own, condition = self.get("Workload", workload), self.condition(workload, "Ready")
        if own is None or condition is None:
            return False
        return bool(condition["status"] == "True" and condition["observedGeneration"] == own["metadata"]["generation"])

    def endpoint(self, workload: str) -> str | None:
        found = ((self.get("Workload", workload) or {}).get("status") or {}).get("endpoint")
        return str(found) if found else None

    def pods(self, workload: str) -> list[Json]:
        """Those that are not terminating, the newest first."""
        pods = self.objects.get("Pod", {}).values()
        mine = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get("score.dev/workload") == workload]
        living = [pod for pod in mine if "deletionTimestamp" not in pod["metadata"]]
        return sorted(living, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), reverse=True)

    def pod(self, workload: str) -> Json | None:
        return next(iter(self.pods(workload)), None)

    def messages(self, workload: str) -> str:
        """Those of all conditions that are not True."""
        conditions = ((self.get("Workload", workload) or {}).get("status") or {}).get("conditions") or ()
        return "\n".join(each.get("message", "") for each in conditions if each["status"] != "True")

    async def environment(self, workload: str, container: str) -> dict[str, str] | None:
        pod = self.pod(workload)
        if pod is None:
            return None
        ran = await self.cluster.execute(self.namespace, pod["metadata"]["name"], container, ("env", "-0"))
        if ran.code != 0:
            return None
        pairs = (entry.partition("=") for entry in ran.out.decode(errors="replace").split("\0") if "=" in entry)
        return {name: value for name, _, value in pairs}


async def look(cluster: Cluster, namespace: str) -> Found:
    objects = {
        kind.__name__: {item["metadata"]["name"]: item for item in await cluster.all(namespace, kind)} for kind in KINDS
    }
    return Found(cluster, namespace, objects)
