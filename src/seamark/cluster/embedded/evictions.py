"""Eviction: a Pod is deleted, unless a disruption budget forbids it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from seamark.cluster.embedded.revisions import Revisions
from seamark.cluster.embedded.selectors import from_selector, matches
from seamark.cluster.embedded.status import ApiError, Json
from seamark.core.clock import timestamp

BUDGETS = "poddisruptionbudgets.policy"
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


class Evictions:
    """Asks the budgets of a Pod, and takes from the one that allows it."""

    def __init__(self, revisions: Revisions, now: Callable[[], datetime]) -> None:
        self._revisions = revisions
        self._now = now

    def allow(self, pod: Json, *, dry_run: bool) -> None:
        """Raises where the Pod must stay."""
        if pod["status"].get("phase") in ("Succeeded", "Failed", "Pending") or pod["metadata"].get("deletionTimestamp"):
            return
        budgets = self._budgets(pod)
        if len(budgets) > 1:
            words = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise ApiError(500, "", words)
        if budgets and not _unhealthy_may_go(pod, budgets[0]):
            self._take(pod, budgets[0], dry_run=dry_run)

    def _budgets(self, pod: Json) -> list[Json]:
        namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels")
        inside = [one for (where, _), one in self._revisions.objects(BUDGETS) if where == namespace]
        return [one for one in inside if matches(from_selector(one["spec"].get("selector")), labels)]

    def _take(self, pod: Json, budget: Json, *, dry_run: bool) -> None:
        meta, status = budget["metadata"], budget["status"]
        if status.get("observedGeneration", 0) < meta["generation"]:
            raise _refused(f"The disruption budget {meta['name']} is still being processed by the server.", 10)
        if not status.get("disruptionsAllowed"):
            wanted, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
            words = f"The disruption budget {meta['name']} needs {wanted} healthy pods and has {healthy} currently"
            if healthy > wanted:
                words = f"The disruption budget {meta['name']} does not allow evicting pods currently"
            raise _refused(words, 0)
        if dry_run:
            return
        disrupted = {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: timestamp(self._now())}
        left = {**status, "disruptionsAllowed": status["disruptionsAllowed"] - 1, "disruptedPods": disrupted}
        key = (meta["namespace"], meta["name"])
        self._revisions.write(BUDGETS, key, {**budget, "metadata": dict(meta), "status": left})


def _unhealthy_may_go(pod: Json, budget: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    if any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    wanted = budget["status"].get("desiredHealthy", 0)
    return bool(0 < wanted <= budget["status"].get("currentHealthy", 0))


def _refused(words: str, seconds: int) -> ApiError:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": words}]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return ApiError(429, "TooManyRequests", _REFUSED, details)
