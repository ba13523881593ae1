"""PersistentVolumeClaims and PodDisruptionBudgets."""

from __future__ import annotations

import re

from seamark_cluster.embedded.builtin.validation.basics import NEGATIVE_MESSAGE, not_negative, one_of
from seamark_cluster.embedded.machinery.errors import FieldError, Json, field_forbidden, invalid, required
from seamark_cluster.embedded.machinery.metadata import check_labels
from seamark_cluster.embedded.machinery.names import subdomain
from seamark_runtime.quantity import amount_of

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_FROZEN = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def check_claim(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    errors: list[FieldError] = []
    modes = spec.get("accessModes") or []
    if not modes:
        errors.append(required("spec.accessModes", "at least 1 access mode is required"))
    for mode in modes:
        errors += one_of("spec.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and any(mode in _MODES and mode != "ReadWriteOncePod" for mode in modes):
        errors.append(field_forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes"))
    size = _storage(spec)
    if size is None:
        errors.append(required("spec.resources[storage]"))
    elif amount_of(size) <= 0:
        errors.append(invalid("spec.resources[storage]", size, "must be greater than zero"))
    name = spec.get("storageClassName")
    errors += [invalid("spec.storageClassName", name, problem) for problem in (subdomain(name) if name else ())]
    if spec.get("volumeMode") is not None:
        errors += one_of("spec.volumeMode", spec["volumeMode"], ("Block", "Filesystem"))
    return errors


def _storage(spec: Json) -> str | None:
    size: str | None = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return size


def check_claim_update(new: Json, old: Json) -> list[FieldError]:
    """A claim's spec is immutable: it may be bound once, and grow while it is bound."""
    new_spec, old_spec = dict(new["spec"]), dict(old["spec"])
    errors: list[FieldError] = []
    if not old_spec.get("volumeName"):
        old_spec["volumeName"] = new_spec.get("volumeName")
    if "storageClassName" not in old_spec and new_spec.get("storageClassName"):
        old_spec["storageClassName"] = new_spec["storageClassName"]
    if new["status"].get("phase") == "Bound":
        for field in ("resources", "volumeAttributesClassName"):
            old_spec[field] = new_spec.get(field)
    names = new_spec.keys() | old_spec.keys()
    if any(new_spec.get(name) != old_spec.get(name) for name in names):
        errors.append(field_forbidden("spec", _FROZEN))
    size, before = _storage(new["spec"]), _storage(old["spec"])
    given = (old["status"].get("capacity") or {}).get("storage", "0")
    if amount_of(size or "0") < amount_of(before or "0") and amount_of(size or "0") <= amount_of(given):
        errors.append(field_forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    if new_spec.get("volumeMode") != old["spec"].get("volumeMode"):
        errors.append(invalid("volumeMode", new_spec.get("volumeMode"), "field is immutable"))
    return errors


def check_budget(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    errors: list[FieldError] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        errors.append(invalid("spec", _shown(spec), "minAvailable and maxUnavailable cannot be both set"))
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            errors += _share(f"spec.{field}", spec[field])
    errors += check_labels((spec.get("selector") or {}).get("matchLabels") or {}, "spec.selector.matchLabels")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        errors += one_of("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget"))
    return errors


def _shown(spec: Json) -> Json:
    """The whole struct, as Go formats it."""
    fields = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    return {name[0].upper() + name[1:]: spec.get(name) for name in fields}


def _share(path: str, value: int | str) -> list[FieldError]:
    if isinstance(value, int):
        return [invalid(path, value, NEGATIVE_MESSAGE)] if value < 0 else []
    if not re.fullmatch("[0-9]+%", value):
        return [invalid(path, value, _PERCENT)]
    return [invalid(path, value, "must not be greater than 100%")] if int(value[:-1]) > 100 else []


def check_budget_status(new: Json, old: Json) -> list[FieldError]:
    del old
    return not_negative(
        new["status"], "status", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"
    )
