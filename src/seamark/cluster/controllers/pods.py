"""What Pods tell their controllers, and how a Pod is made from a template."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from seamark.api.meta import ObjectMeta
from seamark.cluster.controllers.kinds import MadeMeta, Pod, Selector, Template
from seamark.cluster.controllers.ownership import by_controller
from seamark.core.view import View

SAFE = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words
BY_CONTROLLER = by_controller(Pod)


def word(*parts: object, length: int = 5) -> str:
    """A short name that follows from what it stands for."""
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode()).digest()
    return "".join(SAFE[byte % len(SAFE)] for byte in digest[:length])


def template_word(template: Template) -> str:
    return word(msgspec.json.encode(template, order="deterministic").decode(), length=10)


def active(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if not pod.finished and not pod.deleting]


def available(view: View, pods: Iterable[Pod], seconds: int, now: datetime) -> frozenset[str]:
    """The uids of Pods that have been ready for so long; the key comes again when the next one will have been."""
    found = set()
    for pod in pods:
        condition = pod.condition("Ready")
        if condition is None or condition.status != "True" or pod.deleting:
            continue
        since = datetime.fromisoformat(condition.last_transition_time) if condition.last_transition_time else now
        left = (since + timedelta(seconds=seconds) - now).total_seconds()
        if seconds and left > 0:
            view.again = min(view.again, view.now + left)
        else:
            found.add(pod.uid)
    return frozenset(found)


def keep_first(pod: Pod) -> tuple[Any, ...]:
    """Sorts Pods so that those which a user would miss least come last."""
    condition = pod.condition("Ready")
    since = (condition.last_transition_time or "") if condition else ""
    cost = pod.annotation("controller.kubernetes.io/pod-deletion-cost")
    restarts = sum(status.restart_count for status in pod.status.container_statuses or ())
    return (
        not (pod.spec or {}).get("nodeName"),
        pod.status.phase not in ("Running", "Unknown"),
        not pod.ready,
        -int(cost) if cost.lstrip("-").isdigit() else 0,
        since,  # the longer ready the better
        restarts,
        pod.metadata.creation_timestamp or "",
        pod.metadata.name,
    )


def from_template(template: Template, meta: ObjectMeta, prefix: str, labels: Mapping[str, str] | None = None) -> Pod:
    said = template.get("metadata") or {}
    metadata = MadeMeta(
        name=meta.name,
        namespace=meta.namespace,
        generate_name=prefix,
        labels={**(said.get("labels") or {}), **(labels or {})},
        annotations=said.get("annotations"),
        finalizers=tuple(said["finalizers"]) if said.get("finalizers") else None,
    )
    return Pod(metadata=metadata, spec=dict(template.get("spec") or {}))


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether a selector means an object with these labels; one that says nothing means none here."""
    pairs, expressions = selector.match_labels or {}, selector.match_expressions or ()
    if not pairs and not expressions:
        return False
    if any(labels.get(key) != value for key, value in pairs.items()):
        return False
    for one in expressions:
        match one.operator:
            case "In":
                held = labels.get(one.key) in (one.values or ())
            case "NotIn":
                held = labels.get(one.key) not in (one.values or ())
            case "Exists":
                held = one.key in labels
            case _:
                held = one.key not in labels
        if not held:
            return False
    return True
