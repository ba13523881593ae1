"""The smaller kinds."""

from __future__ import annotations

from seamark_cluster.embedded.builtin.validation.basics import NEGATIVE_MESSAGE, cidr, ip_address, not_negative, one_of
from seamark_cluster.embedded.machinery.errors import FieldError, Json, field_forbidden, invalid, required, too_long
from seamark_cluster.embedded.machinery.names import config_key, path_segment, qualified, subdomain
from seamark_runtime.quantity import amount_of

_IMMUTABLE = "field is immutable when `immutable` is set"
_LARGEST = 1024 * 1024  # bytes of all values of a ConfigMap together
_STANDARD_QUOTAS = {
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "requests.storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
}


def _keys(data: Json, path: str) -> list[FieldError]:
    return [invalid(f"{path}[{key}]", key, problem) for key in sorted(data) for problem in config_key(key)]


def check_config_map(obj: Json) -> list[FieldError]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    errors = _keys(data, "data") + _keys(binary, "binaryData")
    twice = sorted(data.keys() & binary.keys())
    errors += [invalid(f"data[{key}]", key, "duplicate of key present in binaryData") for key in twice]
    size = sum(len(text.encode()) for text in data.values()) + sum(3 * len(text) // 4 for text in binary.values())
    return [*errors, too_long("[]", _LARGEST)] if size > _LARGEST else errors


def check_config_map_update(new: Json, old: Json) -> list[FieldError]:
    return _frozen(new, old, ("data", "binaryData"))


def _frozen(new: Json, old: Json, fields: tuple[str, ...]) -> list[FieldError]:
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [field_forbidden("immutable", _IMMUTABLE)]
    return errors + [field_forbidden(field, _IMMUTABLE) for field in fields if new.get(field) != old.get(field)]


_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def check_secret(obj: Json) -> list[FieldError]:
    data = obj.get("data") or {}
    errors = _keys(data, "data")
    return errors + [required(f"data[{key}]") for key in _SECRET_KEYS.get(obj.get("type", ""), ()) if key not in data]


def check_secret_update(new: Json, old: Json) -> list[FieldError]:
    errors = []
    if new.get("type") != old.get("type"):
        errors.append(invalid("type", new.get("type", ""), "field is immutable"))
    return errors + _frozen(new, old, ("data",))


def check_lease(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    errors = []
    if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0"))
    return errors + not_negative(spec, "spec", "leaseTransitions")


def check_endpoint_slice(obj: Json) -> list[FieldError]:
    kind = obj.get("addressType", "")
    if not kind:
        return [required("addressType")]
    errors = one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        path = f"endpoints[{index}].addresses"
        if not endpoint.get("addresses"):
            errors.append(required(path, "must contain at least 1 address"))
        for at, address in enumerate(endpoint.get("addresses") or ()):
            if kind in ("IPv4", "IPv6"):
                errors += ip_address(f"{path}[{at}]", address)
            elif kind == "FQDN":
                errors += [invalid(f"{path}[{at}]", address, problem) for problem in subdomain(address)]
    return errors


def check_ingress(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    if not spec.get("rules") and not spec.get("defaultBackend"):
        return [invalid("spec", None, "either `defaultBackend` or `rules` must be specified")]
    errors: list[FieldError] = []
    for index, rule in enumerate(spec.get("rules") or ()):
        path = f"spec.rules[{index}]"
        host = rule.get("host", "")
        if host and not host.startswith("*."):
            errors += [invalid(f"{path}.host", host, problem) for problem in subdomain(host)]
        for at, item in enumerate((rule.get("http") or {}).get("paths") or ()):
            errors += _ingress_path(item, f"{path}.http.paths[{at}]")
    return errors


def _ingress_path(rule_path: Json, path: str) -> list[FieldError]:
    kind = rule_path.get("pathType")
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors = one_of(f"{path}.pathType", kind, ("Exact", "ImplementationSpecific", "Prefix"))
    text = rule_path.get("path", "")
    if kind in ("Exact", "Prefix") and not text.startswith("/"):
        errors.append(invalid(f"{path}.path", text, "must be an absolute path"))
    return errors


def check_rules(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(obj.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        urls = rule.get("nonResourceURLs")
        if urls:
            if obj["kind"] == "Role":
                errors.append(
                    invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
                )
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                message = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(f"{path}.nonResourceURLs", urls, message))
            continue
        if "apiGroups" not in rule:
            errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def check_binding(obj: Json) -> list[FieldError]:
    reference = obj["roleRef"]
    errors: list[FieldError] = []
    kinds = ("Role", "ClusterRole") if obj["kind"] == "RoleBinding" else ("ClusterRole",)
    errors += one_of("roleRef.apiGroup", reference.get("apiGroup", ""), ("rbac.authorization.k8s.io",))
    errors += one_of("roleRef.kind", reference.get("kind", ""), kinds)
    if not reference.get("name"):
        errors.append(required("roleRef.name"))
    else:
        errors += [invalid("roleRef.name", reference["name"], problem) for problem in path_segment(reference["name"])]
    for index, subject in enumerate(obj.get("subjects") or ()):
        errors += _subject(subject, f"subjects[{index}]")
        anywhere = obj["kind"] == "ClusterRoleBinding" and subject.get("kind") == "ServiceAccount"
        if anywhere and not subject.get("namespace"):
            errors.append(required(f"subjects[{index}].namespace"))
    return errors


def _subject(subject: Json, path: str) -> list[FieldError]:
    if not subject.get("name"):
        return [required(f"{path}.name")]
    return one_of(f"{path}.kind", subject.get("kind", ""), ("ServiceAccount", "User", "Group"))


def check_binding_update(new: Json, old: Json) -> list[FieldError]:
    if new["roleRef"] == old["roleRef"]:
        return []
    reference = new["roleRef"]
    shown = {
        "APIGroup": reference.get("apiGroup", ""),
        "Kind": reference.get("kind", ""),
        "Name": reference.get("name", ""),
    }
    return [invalid("roleRef", shown, "cannot change roleRef")]


def check_node(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    ranges = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    errors = [error for index, item in enumerate(ranges) for error in cidr(f"spec.podCIDRs[{index}]", item)]
    for index, taint in enumerate(spec.get("taints") or ()):
        path = f"metadata.taints[{index}]"
        key = taint.get("key", "")
        errors += [invalid(f"{path}.key", key, problem) for problem in qualified(key)]
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        errors += one_of(f"{path}.effect", taint.get("effect", ""), effects)
    return errors


def check_node_update(new: Json, old: Json) -> list[FieldError]:
    new_spec, old_spec = new["spec"].get("podCIDRs") or [], old["spec"].get("podCIDRs") or []
    if old_spec and new_spec != old_spec:
        return [field_forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')]
    return []


def check_quota(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amount in sorted((obj["spec"].get("hard") or {}).items()):
        path = f"spec.hard[{name}]"
        errors += [invalid(path, name, problem) for problem in qualified(name)]
        if "/" not in name and name not in _STANDARD_QUOTAS and not name.startswith("requests."):
            errors.append(invalid(path, name, "must be a standard resource for quota"))
        if amount_of(amount) < 0:
            errors.append(invalid(path, amount, NEGATIVE_MESSAGE))
    return errors


def check_namespace(obj: Json) -> list[FieldError]:
    names = obj["spec"].get("finalizers") or ()
    return [error for name in names for error in check_finalizer("spec.finalizers", name)]


def check_finalizer(path: str, name: str) -> list[FieldError]:
    errors = [invalid(path, name, problem) for problem in qualified(name)]
    if "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion"):
        errors.append(invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
    return errors


def check_namespace_status(new: Json, old: Json) -> list[FieldError]:
    del old
    wanted = "Terminating" if new["metadata"].get("deletionTimestamp") else "Active"
    phase = new["status"].get("phase", "")
    if phase == wanted:
        return []
    state = "not empty" if wanted == "Terminating" else "empty"
    return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {state}")]


def check_core_event(obj: Json) -> list[FieldError]:
    """The older version of Events has few rules."""
    about, own = obj["involvedObject"].get("namespace", ""), obj["metadata"].get("namespace", "")
    wrong = invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not obj.get("eventTime"):
        return [wrong] if (about or "default") != own else []
    errors = [wrong] if not about and own not in ("default", "kube-system") else []
    controller = obj.get("reportingComponent", "")
    if not controller:
        errors.append(required("reportingComponent"))
    errors += [invalid("reportingComponent", controller, problem) for problem in qualified(controller)]
    return errors + [required(field) for field in ("reportingInstance", "action", "reason") if not obj.get(field)]


def check_event(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    if not obj.get("eventTime"):
        errors.append(required("eventTime"))
        namespace = (obj.get("regarding") or {}).get("namespace", "")
        if namespace != obj["metadata"].get("namespace", ""):
            errors.append(invalid("involvedObject.namespace", namespace, "does not match event.namespace"))
        return errors + _event_type(obj)
    controller = obj.get("reportingController", "")
    if not controller:
        errors.append(required("reportingController"))
    errors += [invalid("reportingController", controller, problem) for problem in qualified(controller)]
    errors += [required(field) for field in ("reportingInstance", "action", "reason") if not obj.get(field)]
    return errors + _event_type(obj)


def _event_type(obj: Json) -> list[FieldError]:
    if obj.get("type") in ("Normal", "Warning"):
        return []
    return [invalid("type", "", f"has invalid value: {obj.get('type', '')}")]


def check_event_update(new: Json, old: Json) -> list[FieldError]:
    fields = ("regarding", "related", "action", "reason", "type", "reportingController", "reportingInstance", "note")
    return [
        invalid(field, new.get(field, ""), "field is immutable") for field in fields if new.get(field) != old.get(field)
    ]
