"""What a person could do about a hop that is broken, where more can be said than its own words do."""

from __future__ import annotations

from seamark.api.meta import Resource
from seamark.explain import kinds
from seamark.explain.model import Raw, Truth


def fix(resource: Resource, raw: Raw, truth: Truth) -> str:
    return _advice(resource, raw, truth) if truth.broken else ""


def _advice(resource: Resource, raw: Raw, truth: Truth) -> str:
    metadata = raw.get("metadata", {})
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    if metadata.get("deletionTimestamp"):
        holding = ", ".join(metadata.get("finalizers") or ())
        return f"it waits for {holding}" if holding else "wait, or make it again"
    if resource == kinds.POD:
        return f"kubectl logs -n {namespace} {name}; kubectl describe pod -n {namespace} {name}"
    if resource in (kinds.DEPLOYMENT, kinds.STATEFUL_SET):
        return f"look at its Pods: kubectl get pods -n {namespace}"
    if resource == kinds.SLICE:
        return "the Pods behind the Service are not ready"
    if truth is Truth.UNKNOWN:
        return "is the operator running? kubectl get lease -A shows who leads"
    return ""
