"""The columns of built-in kinds in `kubectl get`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from seamark_cluster.server.columns import AGE, CREATED, Cell, Column, Json, age, at, count, joined, of, selector
from seamark_cluster.server.jsonpath import find
from seamark_cluster.server.pod_columns import POD


def wide(name: str, cell: Cell) -> Column:
    return Column(name, cell, priority=1)


def number(name: str, path: str) -> Column:
    return Column(name, at(path, 0), "integer")


# ---- Services


def _external(obj: Json, _now: datetime) -> str:
    spec = obj.get("spec", {})
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", "<none>"))
    assigned = [str(item.get("ip") or item.get("hostname")) for item in find(".status.loadBalancer.ingress[*]", obj)]
    addresses = [*assigned, *(spec.get("externalIPs") or ())]
    if spec.get("type") == "LoadBalancer":
        return ",".join(addresses) or "<pending>"
    return ",".join(spec.get("externalIPs") or ()) or "<none>"


def _ports(obj: Json, _now: datetime) -> str:
    shown = []
    for port in find(".spec.ports[*]", obj):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port['port']}{node}/{port['protocol']}")
    return ",".join(shown) or "<none>"


def _few(found: list[Any], missing: str) -> str:
    """The first three, and the number of the others."""
    shown = ",".join(str(item) for item in found[:3])
    return (f"{shown} + {len(found) - 3} more..." if len(found) > 3 else shown) or missing


def _addresses(obj: Json, _now: datetime) -> str:
    return _few(find(".endpoints[*].addresses[*]", obj), "<unset>")


def _slice_ports(obj: Json, _now: datetime) -> str:
    found = [port.get("port") or port.get("name") or "*" for port in obj.get("ports") or ()]
    return _few(found, "<unset>")


def _old_endpoints(obj: Json, _now: datetime) -> str:
    found = []
    for subset in obj.get("subsets") or ():
        for address in subset.get("addresses") or ():
            found += [f"{address['ip']}:{port['port']}" for port in subset.get("ports") or ()] or [address["ip"]]
    return _few(found, "<none>")


def _hosts(obj: Json, _now: datetime) -> str:
    found = [rule["host"] for rule in find(".spec.rules[*]", obj) if rule.get("host")]
    return _few(found, "*")


def _ingress_ports(obj: Json, _now: datetime) -> str:
    return "80, 443" if obj.get("spec", {}).get("tls") else "80"


# ---- access


def _role(obj: Json, _now: datetime) -> str:
    reference = obj.get("roleRef", {})
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Cell:
    def cell(obj: Json, _now: datetime) -> str:
        found = [subject for subject in obj.get("subjects") or () if subject.get("kind") == kind]
        return ", ".join(
            f"{item['namespace']}/{item['name']}" if item.get("namespace") else item["name"] for item in found
        )

    return cell


# ---- the rest


def _used(*, limits: bool) -> Cell:
    """The usage of a quota, as limits or as requests."""

    def cell(obj: Json, _now: datetime) -> str:
        hard, used = obj.get("status", {}).get("hard") or {}, obj.get("status", {}).get("used") or {}
        shown = [name for name in sorted(hard) if name.startswith("limits.") is limits]
        return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in shown)

    return cell


def _node_status(obj: Json, _now: datetime) -> str:
    ready = find('.status.conditions[?(@.type=="Ready")].status', obj)
    text = "Unknown" if not ready else "Ready" if ready[0] == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if obj.get("spec", {}).get("unschedulable") else text


def _roles(obj: Json, _now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj.get("metadata", {}).get("labels") or {}
    return ",".join(sorted(name.removeprefix(prefix) for name in labels if name.startswith(prefix))) or "<none>"


def _controller(obj: Json, _now: datetime) -> str:
    owner = next(
        (reference for reference in obj["metadata"].get("ownerReferences") or () if reference.get("controller")), None
    )
    if owner is None:
        return "<none>"
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind'].lower()}{'.' if group else ''}{group}/{owner['name']}"


def _about(obj: Json, _now: datetime) -> str:
    about = obj.get("regarding") or obj.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _last_seen(obj: Json, now: datetime) -> str:
    series = obj.get("series") or {}
    times = (series.get("lastObservedTime"), obj.get("lastTimestamp"), obj.get("eventTime"))
    return age(next((time for time in (*times, obj.get("deprecatedLastTimestamp")) if time), None), now)


def _note(obj: Json, _now: datetime) -> str:
    return str(obj.get("note") or obj.get("message") or "").strip()


def _data(obj: Json, now: datetime) -> str:
    return str(count(".data")(obj, now) + count(".binaryData")(obj, now))


CONTAINERS = wide("Containers", joined(".spec.template.spec.containers[*].name"))
IMAGES = wide("Images", joined(".spec.template.spec.containers[*].image"))
SELECTOR = wide("Selector", selector(".spec.selector"))

BUILTIN: dict[str, tuple[Column, ...]] = {
    "Namespace": (Column("Status", at(".status.phase")), AGE),
    "ConfigMap": (Column("Data", _data), AGE),
    "Secret": (Column("Type", at(".type")), Column("Data", count(".data"), "integer"), AGE),
    "Pod": POD,
    "Service": (
        Column("Type", at(".spec.type")),
        Column("Cluster-IP", at(".spec.clusterIP")),
        Column("External-IP", _external),
        Column("Port(s)", _ports),
        AGE,
        SELECTOR,
    ),
    "Endpoints": (Column("Endpoints", _old_endpoints), AGE),
    "EndpointSlice": (
        Column("AddressType", at(".addressType")),
        Column("Ports", _slice_ports),
        Column("Endpoints", _addresses),
        AGE,
    ),
    "Ingress": (
        Column("Class", at(".spec.ingressClassName")),
        Column("Hosts", _hosts),
        Column("Address", joined(".status.loadBalancer.ingress[*].ip", "")),
        Column("Ports", _ingress_ports),
        AGE,
    ),
    "IngressClass": (
        Column("Controller", at(".spec.controller")),
        Column("Parameters", at(".spec.parameters.name")),
        AGE,
    ),
    "NetworkPolicy": (Column("Pod-Selector", selector(".spec.podSelector")), AGE),
    "Deployment": (
        Column("Ready", of(".status.readyReplicas", ".spec.replicas")),
        number("Up-to-date", ".status.updatedReplicas"),
        number("Available", ".status.availableReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    "StatefulSet": (Column("Ready", of(".status.readyReplicas", ".spec.replicas")), AGE, CONTAINERS, IMAGES),
    "ReplicaSet": (
        number("Desired", ".spec.replicas"),
        number("Current", ".status.replicas"),
        number("Ready", ".status.readyReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    "DaemonSet": (
        number("Desired", ".status.desiredNumberScheduled"),
        number("Current", ".status.currentNumberScheduled"),
        number("Ready", ".status.numberReady"),
        number("Up-to-date", ".status.updatedNumberScheduled"),
        number("Available", ".status.numberAvailable"),
        Column("Node Selector", selector(".spec.template.spec.nodeSelector")),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    "ControllerRevision": (Column("Controller", _controller), number("Revision", ".revision"), AGE),
    "PodDisruptionBudget": (
        Column("Min Available", at(".spec.minAvailable", "N/A")),
        Column("Max Unavailable", at(".spec.maxUnavailable", "N/A")),
        number("Allowed Disruptions", ".status.disruptionsAllowed"),
        AGE,
    ),
    "ResourceQuota": (Column("Request", _used(limits=False)), Column("Limit", _used(limits=True)), AGE),
    "Lease": (Column("Holder", at(".spec.holderIdentity", "")), AGE),
    "Role": (CREATED,),
    "ClusterRole": (CREATED,),
    "RoleBinding": (
        Column("Role", _role),
        AGE,
        wide("Users", _subjects("User")),
        wide("Groups", _subjects("Group")),
        wide("ServiceAccounts", _subjects("ServiceAccount")),
    ),
    "CustomResourceDefinition": (CREATED,),
    "Node": (
        Column("Status", _node_status),
        Column("Roles", _roles),
        AGE,
        Column("Version", at(".status.nodeInfo.kubeletVersion")),
        wide("Internal-IP", at('.status.addresses[?(@.type=="InternalIP")].address')),
        wide("External-IP", at('.status.addresses[?(@.type=="ExternalIP")].address')),
        wide("OS-Image", at(".status.nodeInfo.osImage", "<unknown>")),
        wide("Kernel-Version", at(".status.nodeInfo.kernelVersion", "<unknown>")),
        wide("Container-Runtime", at(".status.nodeInfo.containerRuntimeVersion", "<unknown>")),
    ),
    "PersistentVolumeClaim": (
        Column("Status", at(".status.phase")),
        Column("Volume", at(".spec.volumeName", "")),
        Column("Capacity", at(".status.capacity.storage", "")),
        Column("Access Modes", joined(".status.accessModes[*]", "")),
        Column("StorageClass", at(".spec.storageClassName", "")),
        Column("VolumeAttributesClass", at(".spec.volumeAttributesClassName", "<unset>")),
        AGE,
        wide("VolumeMode", at(".spec.volumeMode", "<unset>")),
    ),
    "Event": (
        Column("Last Seen", _last_seen),
        Column("Type", at(".type")),
        Column("Reason", at(".reason")),
        Column("Object", _about),
        wide("Source", at(".reportingComponent", "")),
        Column("Message", _note),
        wide("Count", at(".series.count", 1)),
        wide("Name", at(".metadata.name")),  # rarely needed first
    ),
}
BUILTIN["ClusterRoleBinding"] = BUILTIN["RoleBinding"]
