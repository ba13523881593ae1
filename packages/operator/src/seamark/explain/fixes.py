"""What a user can do about a broken hop, if its own message does not include it."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.explain import kinds
from seamark.explain.model import Raw, Truth
from seamark_runtime.api.meta import Resource

AGENTS = "is an agent running, and connected to the edge? kubectl get pods -A -l app.kubernetes.io/component=agent"
PODS = "look at its Pods: kubectl get pods -n {namespace}"
OPERATOR = "is the operator running? kubectl get lease -A shows who leads"
ROUTE = "which parent refuses it, and why: kubectl describe {plural} -n {namespace} {name}"

BY_REASON: Mapping[tuple[Resource, str], str] = {
    (kinds.AGENT_ENDPOINT, "NoAgent"): AGENTS,
    (kinds.AGENT_ENDPOINT, "Pending"): AGENTS,
    (kinds.SERVICE, "NoAgent"): AGENTS,
    (kinds.DNS_ENDPOINT, "NotOwned"): "the name has another owner: remove it there, or choose another name",
    (kinds.DNS_ENDPOINT, "Conflict"): "two objects want this name: change one of them",
    (kinds.DNS_ENDPOINT, "Failed"): "the name server must let the operator have this name: look at its update policy",
}
BY_KIND: Mapping[Resource, str] = {
    kinds.POD: "kubectl logs -n {namespace} {name}; kubectl describe pod -n {namespace} {name}",
    kinds.DEPLOYMENT: PODS,
    kinds.STATEFUL_SET: PODS,
    kinds.SLICE: "the Pods behind the Service are not ready",
}


def fix(resource: Resource, raw: Raw, truth: Truth) -> str:
    return _advice(resource, raw, truth) if truth.broken else ""


def _advice(resource: Resource, raw: Raw, truth: Truth) -> str:
    metadata = raw.get("metadata", {})
    if metadata.get("deletionTimestamp"):
        holding = ", ".join(metadata.get("finalizers") or ())
        return f"it waits for {holding}" if holding else "wait until it is gone, or create it again"
    specific = next((advice for reason in _reasons(raw) if (advice := BY_REASON.get((resource, reason)))), "")
    general = BY_KIND.get(resource) or (ROUTE if resource in kinds.ROUTES and truth is Truth.FALSE else "")
    advice = specific or general or (OPERATOR if truth is Truth.UNKNOWN else "")
    place = {"namespace": metadata.get("namespace", ""), "name": metadata.get("name", ""), "plural": resource.plural}
    return advice.format(**place)


def _reasons(raw: Raw) -> list[str]:
    """Of the conditions that are not True."""
    conditions = (raw.get("status") or {}).get("conditions") or ()
    return [str(condition.get("reason")) for condition in conditions if condition.get("status") != "True"]
