"""Deployments, StatefulSets, ReplicaSets and similar kinds."""

from __future__ import annotations

from seamark_cluster.embedded.builtin.validation.basics import not_negative
from seamark_cluster.embedded.builtin.validation.pods import check_spec
from seamark_cluster.embedded.machinery.errors import FieldError, Json, field_forbidden, invalid, required, unsupported
from seamark_cluster.embedded.machinery.metadata import check_labels
from seamark_cluster.embedded.machinery.selectors import from_selector, matches

_STATEFUL = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_FREE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _selector_and_template(spec: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    selector = spec.get("selector")
    labels = spec["template"]["metadata"].get("labels") or {}
    if selector is None:
        errors.append(required("spec.selector"))
    elif not from_selector(selector):
        errors.append(invalid("spec.selector", selector, "empty selector is invalid for deployment"))
    if selector is None or (from_selector(selector) and not matches(from_selector(selector), labels)):
        message = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", labels or None, message))
    errors += check_labels(labels, "spec.template.metadata.labels")
    return errors + check_spec(spec["template"]["spec"], "spec.template.spec")


def check_deployment(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    errors = not_negative(spec, "spec", "replicas", "minReadySeconds", "revisionHistoryLimit")
    errors += _selector_and_template(spec)
    strategy = spec["strategy"]
    if strategy["type"] not in ("Recreate", "RollingUpdate"):
        rolling = strategy.get("rollingUpdate")
        if rolling is not None:
            rolling = {"MaxUnavailable": rolling.get("maxUnavailable"), "MaxSurge": rolling.get("maxSurge")}
        shown = {"Type": strategy["type"], "RollingUpdate": rolling}
        errors.append(unsupported("spec.strategy", shown, ["Recreate", "RollingUpdate"]))
    elif strategy["type"] == "Recreate" and "rollingUpdate" in strategy:
        message = "may not be specified when strategy `type` is 'Recreate'"
        errors.append(field_forbidden("spec.strategy.rollingUpdate", message))
    return errors + _restart_always(spec)


def _restart_always(spec: Json) -> list[FieldError]:
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy in ("OnFailure", "Never"):
        return [unsupported("spec.template.spec.restartPolicy", policy, ["Always"])]
    return []


def check_deployment_status(new: Json, old: Json) -> list[FieldError]:
    fields = (
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
    )
    errors = not_negative(new["status"], "status", *fields)
    total = new["status"].get("replicas", 0)
    del old
    for field in ("updatedReplicas", "readyReplicas", "availableReplicas"):
        count = new["status"].get(field, 0)
        if count > total:
            errors.append(invalid(f"status.{field}", count, "cannot be greater than status.replicas"))
    return errors


def selector_stays(new: Json, old: Json) -> list[FieldError]:
    new_spec, old_spec = new["spec"].get("selector"), old["spec"].get("selector")
    return [] if new_spec == old_spec else [invalid("spec.selector", new_spec, "field is immutable")]


def check_replica_set(obj: Json) -> list[FieldError]:
    errors = not_negative(obj["spec"], "spec", "replicas", "minReadySeconds")
    return errors + _selector_and_template(obj["spec"]) + _restart_always(obj["spec"])


def check_replica_set_status(new: Json, old: Json) -> list[FieldError]:
    del old
    status = new["status"]
    fields = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
    errors = not_negative(status, "status", *fields)
    for field in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"):
        if status.get(field, 0) > status.get("replicas", 0):
            errors.append(invalid(f"status.{field}", status[field], "cannot be greater than status.replicas"))
    return errors


def check_stateful_set(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    errors = not_negative(spec, "spec", "replicas", "minReadySeconds")
    if spec.get("podManagementPolicy") not in ("OrderedReady", "Parallel"):
        message = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid("spec.podManagementPolicy", spec.get("podManagementPolicy"), message))
    return errors + _selector_and_template(spec) + _restart_always(spec)


def check_stateful_set_update(new: Json, old: Json) -> list[FieldError]:
    new_spec = {key: value for key, value in new["spec"].items() if key not in _STATEFUL_FREE}
    old_spec = {key: value for key, value in old["spec"].items() if key not in _STATEFUL_FREE}
    return [] if new_spec == old_spec else [field_forbidden("spec", _STATEFUL)]
