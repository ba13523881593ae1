"""Facts that controllers read from Pods, and Pods from a template."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from seamark_cluster.controllers.workload.kinds import MadeMeta, Pod, Selector, Template
from seamark_cluster.controllers.workload.ownership import by_controller
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.view import View

SAFE = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words appear
BY_CONTROLLER = by_controller(Pod)


def short_hash(*parts: object, length: int = 5) -> str:
    """A short name, derived deterministically from its parts."""
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode()).digest()
    return "".join(SAFE[byte % len(SAFE)] for byte in digest[:length])


def template_hash(template: Template) -> str:
    return short_hash(msgspec.json.encode(template, order="deterministic").decode(), length=10)


def active(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if not pod.finished and not pod.deleting]


def available(view: View, pods: Iterable[Pod], seconds: int, now: datetime) -> frozenset[str]:
    """The uids of available Pods (ready for at least `seconds`); the key is requeued for when the next becomes
    available.
    """
    found = set()
    for pod in pods:
        condition = pod.condition("Ready")
        if condition is None or condition.status != "True" or pod.deleting:
            continue
        since = datetime.fromisoformat(condition.last_transition_time) if condition.last_transition_time else now
        left = (since + timedelta(seconds=seconds) - now).total_seconds()
        if seconds and left > 0:
            view.requeue_at = min(view.requeue_at, view.now + left)
        else:
            found.add(pod.uid)
    return frozenset(found)


def keep_first(pod: Pod) -> tuple[Any, ...]:
    """Sorts Pods so that those to delete first come last."""
    condition = pod.condition("Ready")
    since = (condition.last_transition_time or "") if condition else ""
    cost = pod.annotation("controller.kubernetes.io/pod-deletion-cost")
    restarts = sum(status.restart_count for status in pod.status.container_statuses or ())
    return (
        not (pod.spec or {}).get("nodeName"),
        pod.status.phase not in ("Running", "Unknown"),
        not pod.ready,
        -int(cost) if cost.lstrip("-").isdigit() else 0,
        since,  # longer ready sorts first
        restarts,
        pod.metadata.creation_timestamp or "",
        pod.metadata.name,
    )


def from_template(template: Template, meta: ObjectMeta, prefix: str, labels: Mapping[str, str] | None = None) -> Pod:
    declared = template.get("metadata") or {}
    metadata = MadeMeta(
        name=meta.name,
        namespace=meta.namespace,
        generate_name=prefix,
        labels={**(declared.get("labels") or {}), **(labels or {})},
        annotations=declared.get("annotations"),
        finalizers=tuple(declared["finalizers"]) if declared.get("finalizers") else None,
    )
    return Pod(metadata=metadata, spec=dict(template.get("spec") or {}))


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether a selector matches these labels; an empty selector matches nothing here."""
    pairs, expressions = selector.match_labels or {}, selector.match_expressions or ()
    if not pairs and not expressions:
        return False
    if any(labels.get(key) != value for key, value in pairs.items()):
        return False
    for expression in expressions:
        match expression.operator:
            case "In":
                held = labels.get(expression.key) in (expression.values or ())
            case "NotIn":
                held = labels.get(expression.key) not in (expression.values or ())
            case "Exists":
                held = expression.key in labels
            case _:
                held = expression.key not in labels
        if not held:
            return False
    return True
