"""Rights: an account and a role for each part of the family, a role for users, and policies for shared fields.

- A role is what the controller's declaration needs, and the verbs that the contract of the Score kinds names.
- Status policies separate what roles can't: two controllers write one status, each its own fields and no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seamark.api.score import Workload, WorkloadExposure
from seamark.families.score.model.names import MIRROR, ORCHESTRATOR, REGISTRAR, RUNTIME
from seamark.families.score.model.runtime import RUNTIME_CLASS
from seamark_runtime.family import Family
from seamark_runtime.rbac import Grant, by_namespace, grants, leader_grants, rules
from seamark_runtime.statuspolicy import guard

RBAC = "rbac.authorization.k8s.io"
FOLLOW = ("get", "list", "watch")
Json = dict[str, Any]


def _on(resource: str, *verbs: str) -> set[Grant]:
    return {Grant("score.dev", resource, verb) for verb in verbs}


RUNTIME_CONTRACT = _on("workloadexposures", *FOLLOW) | _on("workloadexposures/status", "get", "list", "update", "patch")


def publishing(runtime_class: str) -> Grant:
    """The right to write what a runtime of this class reports. `runtimeclasses` is a name for rights, no kind.

    A role of one namespace never has it, whatever it allows.
    """
    return Grant("score.dev", "runtimeclasses", "publish", name=runtime_class)


CONTRACT = {
    REGISTRAR: _on("workloads", *FOLLOW)
    | _on("workloadplans", *FOLLOW)
    | _on("workloadexposures", *FOLLOW, "create", "update", "patch", "delete")
    | _on("workloadexposures/status", *FOLLOW),
    MIRROR: _on("workloadexposures", *FOLLOW)
    | _on("workloadexposures/status", "get", "list")
    | _on("workloads", *FOLLOW)
    | _on("workloads/status", "get", "list", "update", "patch"),
    RUNTIME: RUNTIME_CONTRACT | {publishing(RUNTIME_CLASS)},
}


def needed(part: Family) -> set[Grant]:
    """What the declarations of its controllers call for."""
    return {grant for controller in part.controllers() for grant in grants(controller)}


def documents(parts: Iterable[Family], namespace: str, runtime_classes: Iterable[str] = ()) -> list[Json]:
    """Everything for these parts of the family and for foreign runtimes of these classes, ready to be applied."""
    identities = [document for part in parts for document in identity(part, namespace)]
    publishers = [publisher(runtime_class) for runtime_class in runtime_classes]
    return [*identities, users(), viewers(), foreign_runtime(), *publishers, *status_policies(namespace)]


def identity(part: Family, namespace: str) -> list[Json]:
    """Its account, a role for what it does everywhere, and one in each namespace where it does something only there."""
    name = part.name
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
    found = by_namespace(needed(part) | CONTRACT.get(name, set()) | leases(namespace))
    return [account, *(each for where in found for each in bound(name, found[where], where, namespace))]


def leases(namespace: str) -> set[Grant]:
    """Replicas elect a leader, where they live."""
    return {grant._replace(namespace=namespace) for grant in leader_grants()}


def bound(name: str, found: Iterable[Grant], where: str, home: str) -> list[Json]:
    """A role in the namespace `where` (everywhere if empty), bound to the account of its name that lives at `home`."""
    kind = "Role" if where else "ClusterRole"
    metadata = {"name": name, **({"namespace": where} if where else {})}
    return [
        {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules(found)},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": home}],
        },
    ]


def role(name: str, found: Iterable[Grant], labels: dict[str, str] | None = None) -> Json:
    metadata: Json = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules(found)}


def users() -> Json:
    """Developers have Workloads, and may look at claims and plans; exposures are the platform's business."""
    found = _on("workloads", *FOLLOW, "create", "update", "patch", "delete")
    found |= _on("resourceclaims", *FOLLOW) | _on("workloadplans", *FOLLOW)
    return role("score-users", found, {f"{RBAC}/aggregate-to-edit": "true", f"{RBAC}/aggregate-to-admin": "true"})


def viewers() -> Json:
    """Who may view a namespace sees its Workloads, claims and plans."""
    found = _on("workloads", *FOLLOW) | _on("resourceclaims", *FOLLOW) | _on("workloadplans", *FOLLOW)
    return role("score-viewers", found, {f"{RBAC}/aggregate-to-view": "true"})


def foreign_runtime() -> Json:
    """For runtimes of others: bind it to their account, beside what they need for their own platform."""
    return role("score-foreign-runtime", RUNTIME_CONTRACT | _on("workloadplans", *FOLLOW))


def publisher(runtime_class: str) -> Json:
    """For the runtime of one class: without it, nothing that it writes is accepted."""
    return role(f"score-publisher-{runtime_class}", {publishing(runtime_class)})


# ---- status policies


def status_policies(namespace: str) -> list[Json]:
    def account(part: str) -> str:
        return f"request.userInfo.username == 'system:serviceaccount:{namespace}:{part}'"

    parts = {"mirror": account(MIRROR), "orchestrator": account(ORCHESTRATOR)}
    status = guard(
        "score-workload-status",
        Workload.RESOURCE,
        "status",
        [
            {
                "expression": "variables.mirror || (variables.afterEndpoint == variables.beforeEndpoint"
                " && variables.afterRuntime == variables.beforeRuntime)",
                "message": "endpoint and RuntimeReady are the mirror's to say",
            },
            {
                "expression": "variables.orchestrator || (variables.afterClaims == variables.beforeClaims"
                " && variables.afterOthers == variables.beforeOthers"
                " && variables.afterObserved == variables.beforeObserved)",
                "message": "claims and the other conditions are the orchestrator's to say",
            },
        ],
        variables={**parts, **_fields("before", "oldObject"), **_fields("after", "object")},
    )
    written = {
        "expression": f"{account(REGISTRAR)} || (oldObject != null && object.spec == oldObject.spec)",
        "message": "the spec of an exposure is the registrar's to write",
    }
    spec = guard("score-exposure-spec", WorkloadExposure.RESOURCE, "", [written], operations=("CREATE", "UPDATE"))
    return [*status, *spec, *exposure_status()]


def exposure_status() -> list[Json]:
    """A runtime writes about the exposures of its own class. Rights of one namespace are not enough."""
    may_publish = "authorizer.group('score.dev').resource('runtimeclasses').name(oldObject.spec.runtimeClass)"
    written = {
        "expression": f"object.?status == oldObject.?status || {may_publish}.check('publish').allowed()",
        "message": "the status of an exposure is written by the runtime of its class: that takes the right to publish "
        "for the runtimeclasses.score.dev of this name",
    }
    return guard("score-exposure-status", WorkloadExposure.RESOURCE, "status", [written])


def _fields(when: str, of: str) -> dict[str, str]:
    """The parts of a status, by the controller that writes them."""
    conditions = f"({of}.?status.conditions.orValue([]))"
    return {
        f"{when}Endpoint": f"{of}.?status.endpoint.orValue('')",
        f"{when}Observed": f"{of}.?status.observedGeneration.orValue(0)",
        f"{when}Claims": f"{of}.?status.claims.orValue([])",
        f"{when}Runtime": f"{conditions}.filter(one, one.type == 'RuntimeReady')",
        f"{when}Others": f"{conditions}.filter(one, one.type != 'RuntimeReady')",
    }
