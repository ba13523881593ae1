"""Services."""

from __future__ import annotations

from seamark_cluster.embedded.builtin.validation.basics import ip_address, one_of, port
from seamark_cluster.embedded.machinery.errors import FieldError, Json, duplicate, field_forbidden, invalid, required
from seamark_cluster.embedded.machinery.metadata import check_labels
from seamark_cluster.embedded.machinery.names import label, subdomain

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_CHANGED = "may not change once set"


def check_service(service: Json) -> list[FieldError]:
    spec = service["spec"]
    errors: list[FieldError] = []
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and spec["type"] != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _check_ports(spec.get("ports") or [])
    errors += check_labels(spec.get("selector") or {}, "spec.selector")
    errors += one_of("spec.type", spec["type"], _TYPES)
    errors += one_of("spec.sessionAffinity", spec["sessionAffinity"], ("ClientIP", "None"))
    if spec["type"] == "ExternalName":
        errors += _check_external_name(spec)
    else:
        errors += _check_addresses(spec)
    return errors


def _check_external_name(spec: Json) -> list[FieldError]:
    name = spec.get("externalName", "")
    if not name:
        return [required("spec.externalName")]
    return [invalid("spec.externalName", name, problem) for problem in subdomain(name.rstrip("."))]


def _check_addresses(spec: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, address in enumerate(spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])):
        if not (address == "None" and index == 0):
            errors += ip_address(f"spec.clusterIPs[{index}]", address)
    if spec.get("clusterIP") == "None" and spec["type"] in ("NodePort", "LoadBalancer"):
        kind = spec["type"]
        errors.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    return errors


def _check_ports(ports: list[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    seen: set[tuple[str, int]] = set()
    for index, item in enumerate(ports):
        path = f"spec.ports[{index}]"
        name = item.get("name", "")
        if len(ports) > 1 and not name:
            errors.append(required(f"{path}.name"))
        if name:
            errors += [invalid(f"{path}.name", name, problem) for problem in label(name)]
            if name in names:
                errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        errors += port(f"{path}.port", item["port"])
        errors += one_of(f"{path}.protocol", item["protocol"], ("SCTP", "TCP", "UDP"))
        target = item.get("targetPort")
        if isinstance(target, int):
            errors += port(f"{path}.targetPort", target)
        if (item["protocol"], item["port"]) in seen:
            shown = {
                "Name": "",
                "Protocol": item["protocol"],
                "AppProtocol": None,
                "Port": item["port"],
                "TargetPort": 0,
                "NodePort": 0,
            }
            errors.append(duplicate(path, shown))
        seen.add((item["protocol"], item["port"]))
    return errors


def check_service_update(new: Json, old: Json) -> list[FieldError]:
    """The address of a Service is immutable, unless its old or new type has none."""
    new_spec, old_spec = new["spec"], old["spec"]
    if "ExternalName" in (new_spec["type"], old_spec["type"]) or not old_spec.get("clusterIP"):
        return []
    given = new_spec.get("clusterIPs") or ([new_spec["clusterIP"]] if new_spec.get("clusterIP") else [])
    if given and given[0] != old_spec["clusterIP"] and not ip_problem(given[0]):
        return [invalid("spec.clusterIPs[0]", given, _CHANGED)]
    return []


def ip_problem(address: str) -> bool:
    return address != "None" and bool(ip_address("", address))


def check_status(new: Json, old: Json) -> list[FieldError]:
    del old
    errors: list[FieldError] = []
    if (new["status"].get("loadBalancer") or {}).get("ingress") and new["spec"]["type"] != "LoadBalancer":
        message = "may only be used when `spec.type` is 'LoadBalancer'"
        return [field_forbidden("status.loadBalancer.ingress", message)]
    for index, ingress in enumerate((new["status"].get("loadBalancer") or {}).get("ingress") or ()):
        path = f"status.loadBalancer.ingress[{index}]"
        if ingress.get("ip"):
            errors += ip_address(f"{path}.ip", ingress["ip"])
        if ingress.get("hostname"):
            errors += [
                invalid(f"{path}.hostname", ingress["hostname"], item) for item in subdomain(ingress["hostname"])
            ]
    return errors
