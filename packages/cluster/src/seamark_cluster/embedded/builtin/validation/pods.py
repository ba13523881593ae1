"""Pods, and the Pod templates of workloads."""

from __future__ import annotations

from typing import Any

from seamark_cluster.embedded.builtin.validation.basics import not_negative, one_of, port
from seamark_cluster.embedded.machinery.errors import (
    FieldError,
    Json,
    duplicate,
    field_forbidden,
    field_not_found,
    invalid,
    required,
)
from seamark_cluster.embedded.machinery.metadata import check_labels
from seamark_cluster.embedded.machinery.names import config_key, label, subdomain

_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_pod(pod: Json) -> list[FieldError]:
    return check_spec(pod["spec"], "spec")


def check_spec(spec: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    volumes = spec.get("volumes") or []
    names = _volume_names(volumes, f"{path}.volumes", errors)
    containers = spec.get("containers") or []
    if not containers:
        errors.append(required(f"{path}.containers"))
    seen: set[str] = set()
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{path}.{kind}[{index}]"
            errors += _container(container, where, names)
            name = container.get("name", "")
            if name and name in seen:
                errors.append(duplicate(f"{where}.name", name))
            seen.add(name)
    errors += one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), ("Always", "OnFailure", "Never"))
    errors += one_of(
        f"{path}.dnsPolicy", spec.get("dnsPolicy"), ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    )
    errors += check_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    if spec.get("serviceAccountName"):
        name = spec["serviceAccountName"]
        errors += [invalid(f"{path}.serviceAccountName", name, problem) for problem in subdomain(name)]
    return errors


def _volume_names(volumes: list[Json], path: str, errors: list[FieldError]) -> set[str]:
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        name = volume.get("name", "")
        where = f"{path}[{index}]"
        if not name:
            errors.append(required(f"{where}.name"))
        else:
            errors += [invalid(f"{where}.name", name, problem) for problem in label(name)]
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
        if len(volume) > 2:
            extra = sorted(key for key in volume if key != "name")[1]
            errors.append(field_forbidden(f"{where}.{extra}", "may not specify more than 1 volume type"))
    return names


def _container(container: Json, path: str, volumes: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    name = container.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        errors += [invalid(f"{path}.name", name, problem) for problem in label(name)]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    errors += one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), ("Always", "IfNotPresent", "Never"))
    errors += _ports(container.get("ports") or [], f"{path}.ports")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where = f"{path}.volumeMounts[{index}]"
        if not mount.get("name"):
            errors.append(required(f"{where}.name"))
        elif mount["name"] not in volumes:
            errors.append(field_not_found(f"{where}.name", mount["name"]))
        if not mount.get("mountPath"):
            errors.append(required(f"{where}.mountPath"))
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            errors.append(required(f"{path}.env[{index}].name"))
        errors += _reference(variable.get("valueFrom") or {}, f"{path}.env[{index}].valueFrom")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        errors += _probe(container.get(probe) or {}, f"{path}.{probe}")
    return errors


def _reference(source: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            key = source[kind].get("key", "")
            if not key:
                errors.append(required(f"{path}.{kind}.key"))
            else:
                errors += [invalid(f"{path}.{kind}.key", key, problem) for problem in config_key(key)]
    return errors


def _ports(ports: list[Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, item in enumerate(ports):
        where = f"{path}[{index}]"
        name = item.get("name", "")
        if name and name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
        if not item.get("containerPort"):
            errors.append(required(f"{where}.containerPort"))
        else:
            errors += port(f"{where}.containerPort", item["containerPort"])
        errors += one_of(f"{where}.protocol", item.get("protocol"), ("SCTP", "TCP", "UDP"))
    return errors


def _probe(probe: Json, path: str) -> list[FieldError]:
    errors = not_negative(
        probe, path, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"
    )
    handlers = [kind for kind in ("exec", "httpGet", "tcpSocket", "grpc") if kind in probe]
    if probe and not handlers:
        errors.append(required(path, "must specify a handler type"))
    if len(handlers) > 1:
        errors.append(field_forbidden(f"{path}.{handlers[1]}", "may not specify more than 1 handler type"))
    return errors


def check_pod_update(new: Json, old: Json) -> list[FieldError]:
    """Almost all of a Pod's spec is immutable: the mutable fields are copied over, and then both must be equal."""
    new_spec, old_spec = new["spec"], old["spec"]
    errors: list[FieldError] = []
    for kind in ("containers", "initContainers"):
        if len(new_spec.get(kind) or ()) != len(old_spec.get(kind) or ()):
            return [field_forbidden(f"spec.{kind}", "pod updates may not add or remove containers")]
    for index, container in enumerate(new_spec.get("containers") or ()):
        if not container.get("image"):
            errors.append(required(f"spec.containers[{index}].image"))
    if _frozen(new_spec, old_spec) != old_spec:
        errors.append(field_forbidden("spec", _FIXED))
    return errors


def _frozen(new_spec: Json, old_spec: Json) -> Json:
    spec: dict[str, Any] = dict(new_spec)
    for kind in ("containers", "initContainers"):
        if kind in old_spec:
            spec[kind] = [
                {**item, "image": other.get("image")} if "image" in other else item
                for item, other in zip(new_spec.get(kind) or (), old_spec[kind], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "tolerations"):
        if field in old_spec:
            spec[field] = old_spec[field]
        else:
            spec.pop(field, None)
    return spec
