"""Eviction: a Pod is deleted, unless a PodDisruptionBudget forbids it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from seamark_cluster.embedded.machinery.errors import ApiError, Json
from seamark_cluster.embedded.machinery.revisions import Revisions
from seamark_cluster.embedded.machinery.selectors import from_selector, matches
from seamark_runtime.clock import timestamp

BUDGETS = "poddisruptionbudgets.policy"
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


class Evictions:
    """Checks the budgets of a Pod, and decrements the one that allows the eviction."""

    def __init__(self, revisions: Revisions, now: Callable[[], datetime]) -> None:
        self._revisions = revisions
        self._now = now

    def allow(self, pod: Json, *, dry_run: bool) -> None:
        """Raises where the Pod must stay."""
        if pod["status"].get("phase") in ("Succeeded", "Failed", "Pending") or pod["metadata"].get("deletionTimestamp"):
            return
        budgets = self._budgets(pod)
        if len(budgets) > 1:
            message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise ApiError(500, "", message)
        if budgets and not _unhealthy_may_go(pod, budgets[0]):
            self._take(pod, budgets[0], dry_run=dry_run)

    def _budgets(self, pod: Json) -> list[Json]:
        namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels")
        inside = [obj for (where, _), obj in self._revisions.objects(BUDGETS) if where == namespace]
        return [item for item in inside if matches(from_selector(item["spec"].get("selector")), labels)]

    def _take(self, pod: Json, budget: Json, *, dry_run: bool) -> None:
        meta, status = budget["metadata"], budget["status"]
        if status.get("observedGeneration", 0) < meta["generation"]:
            raise _refused(f"The disruption budget {meta['name']} is still being processed by the server.", 10)
        if not status.get("disruptionsAllowed"):
            wanted, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
            message = f"The disruption budget {meta['name']} needs {wanted} healthy pods and has {healthy} currently"
            if healthy > wanted:
                message = f"The disruption budget {meta['name']} does not allow evicting pods currently"
            raise _refused(message, 0)
        if dry_run:
            return
        disrupted = {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: timestamp(self._now())}
        left = {**status, "disruptionsAllowed": status["disruptionsAllowed"] - 1, "disruptedPods": disrupted}
        key = (meta["namespace"], meta["name"])
        self._revisions.write(BUDGETS, key, {**budget, "metadata": dict(meta), "status": left})


def _unhealthy_may_go(pod: Json, budget: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    if any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    wanted = budget["status"].get("desiredHealthy", 0)
    return bool(0 < wanted <= budget["status"].get("currentHealthy", 0))


def _refused(message: str, seconds: int) -> ApiError:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": message}]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return ApiError(429, "TooManyRequests", _REFUSED, details)
