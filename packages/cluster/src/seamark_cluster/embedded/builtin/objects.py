"""Defaults and preparation of the smaller built-in kinds."""

from __future__ import annotations

import base64

from seamark_cluster.embedded.machinery.errors import Json


def create_namespace(obj: Json) -> None:
    finalizers = obj["spec"].get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    obj["spec"]["finalizers"] = finalizers
    obj["status"] = {"phase": "Active"}
    default_namespace(obj)  # a generated name exists only now


def default_namespace(obj: Json) -> None:
    # Every namespace can be selected by its own name.
    name = obj["metadata"].get("name")
    if name:
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name
    obj["status"].setdefault("phase", "Active")


def update_namespace(new: Json, old: Json) -> None:
    if "finalizers" in old["spec"]:
        new["spec"]["finalizers"] = old["spec"]["finalizers"]
    else:
        new["spec"].pop("finalizers", None)


def default_secret(obj: Json) -> None:
    obj.setdefault("type", "Opaque")
    strings = obj.pop("stringData", None)
    if strings:
        data = obj.setdefault("data", {})
        for key, text in strings.items():
            data[key] = base64.b64encode(text.encode()).decode()


def default_service(obj: Json) -> None:
    spec = obj["spec"]
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    else:
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", 10800)
    spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in obj["status"]["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


_EXPOSED = ("NodePort", "LoadBalancer")


def update_service(new: Json, old: Json) -> None:
    """Allocated values are kept, unless the new type does not use them and the request did not change them."""
    new_spec, old_spec = new["spec"], old["spec"]
    if new_spec["type"] != "ExternalName" != old_spec["type"]:
        _keep_address(new_spec, old_spec)
    elif old_spec["type"] != "ExternalName":
        if all(new_spec.get(field) == old_spec.get(field) for field in ("clusterIP", "clusterIPs")):
            _forget(new_spec, old_spec, "clusterIP", "clusterIPs")
        _forget(new_spec, old_spec, "ipFamilies", "ipFamilyPolicy")
    if new_spec["type"] not in _EXPOSED and old_spec["type"] in _EXPOSED:
        _forget_node_ports(new_spec, old_spec)
        if not new_spec.get("externalIPs") or new_spec["type"] == "ExternalName":
            _forget(new_spec, old_spec, "externalTrafficPolicy")
    if new_spec["type"] != "LoadBalancer":
        if old_spec["type"] == "LoadBalancer":
            _forget(new_spec, old_spec, "allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort")
        new["status"] = {**new["status"], "loadBalancer": {}}


def _keep_address(new_spec: Json, old_spec: Json) -> None:
    if not new_spec.get("clusterIP") and not new_spec.get("clusterIPs"):
        for field in ("clusterIP", "clusterIPs"):
            if field in old_spec:
                new_spec[field] = old_spec[field]
    elif new_spec.get("clusterIP") != old_spec.get("clusterIP") and new_spec.get("clusterIPs") == old_spec.get(
        "clusterIPs"
    ):
        new_spec["clusterIPs"] = [new_spec["clusterIP"]] if new_spec.get("clusterIP") else None


def _forget(new_spec: Json, old_spec: Json, *fields: str) -> None:
    for field in fields:
        if new_spec.get(field) == old_spec.get(field):
            new_spec.pop(field, None)


def _forget_node_ports(new_spec: Json, old_spec: Json) -> None:
    """Node ports of the old type that the request did not change are removed with it."""
    before = {port.get("nodePort") for port in old_spec.get("ports") or ()} - {None}
    after = {port.get("nodePort") for port in new_spec.get("ports") or ()} - {None}
    if before and before == after:
        new_spec["ports"] = [{name: port[name] for name in port if name != "nodePort"} for port in new_spec["ports"]]


def show_service(service: Json) -> Json:
    """A Service that became an ExternalName keeps a policy in storage that readers do not get."""
    spec = service["spec"]
    if spec.get("type") != "ExternalName" or "internalTrafficPolicy" not in spec:
        return service
    return {**service, "spec": {name: value for name, value in spec.items() if name != "internalTrafficPolicy"}}


def warn_service(service: Json) -> list[str]:
    spec = service["spec"]
    kind, warnings = spec["type"], []
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if headless:
        given = {"loadBalancerIP": spec.get("loadBalancerIP"), "externalIPs": spec.get("externalIPs")}
        given["SessionAffinity"] = spec["sessionAffinity"] != "None"
        warnings += [f"spec.{name} is ignored for headless services" for name, value in given.items() if value]
    if spec.get("externalIPs") and kind == "ExternalName":
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    elif spec.get("externalIPs") and not headless:
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("externalName") and kind != "ExternalName":
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    return warnings


def default_endpoint_slice(obj: Json) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_endpoints(obj: Json) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_event(obj: Json) -> None:
    obj.setdefault("type", "Normal")


def default_network_policy(obj: Json) -> None:
    spec = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_binding(obj: Json) -> None:
    obj["roleRef"]["apiGroup"] = obj["roleRef"].get("apiGroup") or "rbac.authorization.k8s.io"
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")


def default_policy(obj: Json) -> None:
    spec = obj["spec"]
    spec.setdefault("failurePolicy", "Fail")
    constraints = spec.setdefault("matchConstraints", {})
    default_match(constraints)


def default_match(match: Json) -> None:
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    match.setdefault("matchPolicy", "Equivalent")
    for rule in [*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())]:
        rule.setdefault("scope", "*")


def default_policy_binding(obj: Json) -> None:
    if "matchResources" in obj["spec"]:
        default_match(obj["spec"]["matchResources"])


def default_definition(obj: Json) -> None:
    spec = obj["spec"]
    names = spec["names"]
    if not names.get("singular"):
        names["singular"] = names.get("kind", "").lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = names["kind"] + "List"
    spec.setdefault("conversion", {"strategy": "None"})


def create_definition(obj: Json) -> None:
    stored = [version["name"] for version in obj["spec"].get("versions") or () if version.get("storage")]
    obj["status"]["storedVersions"] = stored or None


def default_node(obj: Json) -> None:
    status = obj["status"]
    spec = obj["spec"]
    if spec.get("podCIDR") and (spec.get("podCIDRs") or [""])[0] != spec["podCIDR"]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    if "capacity" in status:
        allocatable = status.setdefault("allocatable", {})
        for name, value in status["capacity"].items():
            allocatable.setdefault(name, value)


def admit_node(obj: Json) -> None:
    """A new Node gets the not-ready taint until its Ready condition is True."""
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    taints = obj["spec"].get("taints") or []
    if not any(item.get("key") == taint["key"] and item.get("effect") == "NoSchedule" for item in taints):
        obj["spec"]["taints"] = [*taints, taint]


def default_ingress_class(obj: Json) -> None:
    parameters = obj["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"
