"""The rules of `metadata` for every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seamark_cluster.embedded.machinery.errors import FieldError, Json, field_forbidden, invalid, required, too_long
from seamark_cluster.embedded.machinery.names import NameCheck, label, label_value, qualified

ANNOTATIONS_LIMIT = 256 * 1024


def check_metadata(meta: Json, name_check: NameCheck, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    generate, name = meta.get("generateName", ""), meta.get("name", "")
    if generate:
        stem = generate[:-1] + "a" if generate.endswith("-") else generate
        errors += [invalid("metadata.generateName", generate, problem) for problem in name_check(stem)]
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid("metadata.name", name, problem) for problem in name_check(name)]
    if namespaced and not meta.get("namespace"):
        errors.append(required("metadata.namespace"))
    elif namespaced:
        errors += [invalid("metadata.namespace", meta["namespace"], problem) for problem in label(meta["namespace"])]
    elif meta.get("namespace"):
        errors.append(field_forbidden("metadata.namespace", "not allowed on this type"))
    for extra in ("labels", "annotations", "ownerReferences", "finalizers"):
        if meta.get(extra):
            errors += _EXTRAS[extra](meta[extra])
    return errors


def _labels(labels: dict[str, str]) -> list[FieldError]:
    return check_labels(labels, "metadata.labels")


def check_labels(labels: dict[str, str], path: str) -> list[FieldError]:
    errors = []
    for key in sorted(labels):
        errors += [invalid(path, key, problem) for problem in qualified(key)]
        errors += [invalid(path, labels[key], problem) for problem in label_value(labels[key])]
    return errors


def _annotations(annotations: dict[str, str]) -> list[FieldError]:
    errors = []
    for key in sorted(annotations):
        errors += [invalid("metadata.annotations", key, problem) for problem in qualified(key.lower())]
    if sum(len(key) + len(value.encode()) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        errors.append(too_long("metadata.annotations", ANNOTATIONS_LIMIT))
    return errors


def _owners(references: list[Json]) -> list[FieldError]:
    path = "metadata.ownerReferences"
    errors = []
    controller = ""
    for reference in references:
        if not reference.get("apiVersion"):
            errors.append(invalid(f"{path}.apiVersion", "", "version must not be empty"))
        for field in ("kind", "name", "uid"):
            if not reference.get(field):
                errors.append(invalid(f"{path}.{field}", "", "must not be empty"))
        if reference.get("kind") == "Event" and reference.get("apiVersion") == "v1":
            errors.append(invalid(path, reference, "/v1, Kind=Event is disallowed from being an owner"))
        if reference.get("controller"):
            name = f"{reference.get('kind')}/{reference.get('name')}"
            if controller:
                message = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {name}'
                )
                errors.append(invalid(path, references, message))
            controller = controller or name
    return errors


def _finalizers(finalizers: list[str]) -> list[FieldError]:
    path = "metadata.finalizers"
    errors = []
    for finalizer in finalizers:
        errors += [invalid(path, finalizer, problem) for problem in qualified(finalizer)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        message = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid(path, finalizers, message))
    return errors


_EXTRAS: dict[str, Callable[[Any], list[FieldError]]] = {
    "labels": _labels,
    "annotations": _annotations,
    "ownerReferences": _owners,
    "finalizers": _finalizers,
}


def check_metadata_update(new: Json, old: Json) -> list[FieldError]:
    errors = []
    if old.get("deletionTimestamp"):
        extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            shown = ", ".join(f'"{item}"' for item in extra)
            message = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{shown}}}"
            )
            errors.append(field_forbidden("metadata.finalizers", message))
    if not new.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    for field in ("name", "namespace", "uid"):
        if new.get(field, "") != old.get(field, ""):
            errors.append(invalid(f"metadata.{field}", new.get(field, ""), "field is immutable"))
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(field) != old.get(field):
            errors.append(invalid(f"metadata.{field}", new.get(field), "field is immutable"))
    return errors
