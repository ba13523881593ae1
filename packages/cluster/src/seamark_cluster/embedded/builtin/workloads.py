"""Pods and workloads: the API server's defaults."""

from __future__ import annotations

from fractions import Fraction

from seamark_cluster.embedded.machinery.errors import Json
from seamark_runtime.quantity import amount_of

_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODE = 0o644


def default_pod_spec(spec: Json) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    elif "serviceAccount" in spec:
        spec["serviceAccountName"] = spec["serviceAccount"]
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        default_container(container, host_network=spec.get("hostNetwork", False))


def default_volume(volume: Json) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    for source in ("secret", "configMap", "projected", "downwardAPI"):
        if source in volume:
            volume[source].setdefault("defaultMode", _MODE)
    for source in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    _default_field_refs((volume.get("downwardAPI") or {}).get("items"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        _default_field_refs((source.get("downwardAPI") or {}).get("items"))
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")


def _default_field_refs(items: list[Json] | None) -> None:
    for item in items or ():
        if "fieldRef" in item:
            item["fieldRef"].setdefault("apiVersion", "v1")


def default_container(container: Json, *, host_network: bool) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = "Always" if _latest(container.get("image", "")) else "IfNotPresent"
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and "hostPort" not in port and port.get("containerPort"):
            port["hostPort"] = port["containerPort"]
    for variable in container.get("env") or ():
        _default_field_refs([variable.get("valueFrom") or {}])
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            default_probe(container[probe])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_handler(hook)


def _latest(image: str) -> bool:
    name = image.rpartition("/")[2]
    if "@" in name:
        return False
    return ":" not in name or name.endswith(":latest")


def default_probe(probe: Json) -> None:
    for key, value in _PROBE.items():
        probe.setdefault(key, value)
    _default_handler(probe)


def _default_handler(handler: Json) -> None:
    if "httpGet" in handler:
        handler["httpGet"].setdefault("path", "/")
        handler["httpGet"].setdefault("scheme", "HTTP")
    if "grpc" in handler:
        handler["grpc"].setdefault("service", "")


def _default_resources(resources: Json) -> None:
    limits = resources.get("limits")
    if limits:
        requests = dict(resources.get("requests") or {})
        for name, value in limits.items():
            requests.setdefault(name, value)
        resources["requests"] = requests


def default_pod(pod: Json) -> None:
    default_pod_spec(pod["spec"])
    pod["spec"].setdefault("enableServiceLinks", True)
    for container in pod["spec"].get("containers") or ():
        _default_resources(container.get("resources") or {})
    status = pod["status"]
    for item, many in (("podIP", "podIPs"), ("hostIP", "hostIPs")):
        if status.get(item) and not status.get(many):
            status[many] = [{"ip": status[item]}]


def default_template(template: Json) -> None:
    default_pod_spec(template["spec"])


def default_deployment(obj: Json) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    spec["strategy"].setdefault("type", "RollingUpdate")
    if spec["strategy"]["type"] == "RollingUpdate":
        rolling = spec["strategy"].setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_template(spec["template"])


def default_stateful_set(obj: Json) -> None:
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec["updateStrategy"].setdefault("type", "RollingUpdate")
    if spec["updateStrategy"]["type"] == "RollingUpdate":
        spec["updateStrategy"].setdefault("rollingUpdate", {}).setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates") or ():
        default_claim(claim)


def default_daemon_set(obj: Json) -> None:
    spec = obj["spec"]
    spec["updateStrategy"].setdefault("type", "RollingUpdate")
    if spec["updateStrategy"]["type"] == "RollingUpdate":
        rolling = spec["updateStrategy"].setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec["template"])


def default_replica_set(obj: Json) -> None:
    obj["spec"].setdefault("replicas", 1)
    default_template(obj["spec"]["template"])


def default_claim(obj: Json) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["status"].setdefault("phase", "Pending")


def decode_claim(obj: Json) -> Json:
    """A new claim is stored without a phase; its first update stores the phase that readers get."""
    return obj if obj["status"].get("phase") else {**obj, "status": {**obj["status"], "phase": "Pending"}}


def admit_claim(obj: Json) -> None:
    """A claim in use is protected by a finalizer."""
    finalizers = obj["metadata"].get("finalizers") or []
    if "kubernetes.io/pvc-protection" not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, "kubernetes.io/pvc-protection"]


def default_job(obj: Json) -> None:
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    default_template(spec["template"])


def default_cron_job(obj: Json) -> None:
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_template(spec["jobTemplate"]["spec"]["template"])


def create_pod(pod: Json) -> None:
    pod["status"] = {"phase": "Pending", "qosClass": quality(pod["spec"])}


def status_pod(new: Json, old: Json) -> None:
    owners = old["metadata"].get("ownerReferences")
    new["metadata"].pop("ownerReferences", None)
    if owners:
        new["metadata"]["ownerReferences"] = owners
    if "qosClass" in old["status"]:
        new["status"] = {**new["status"]}
        new["status"].setdefault("qosClass", old["status"]["qosClass"])


def status_deployment(new: Json, old: Json) -> None:
    labels = old["metadata"].get("labels")
    new["metadata"].pop("labels", None)
    if labels:
        new["metadata"]["labels"] = labels


def admit_pod(pod: Json, old: Json | None) -> None:
    """What the default admission plugins add to a new Pod: its priority, and tolerations for a lost node."""
    spec = pod["spec"]
    before = old["spec"] if old is not None else {}
    spec.setdefault("priority", before.get("priority", 0))
    spec.setdefault("preemptionPolicy", before.get("preemptionPolicy", "PreemptLowerPriority"))
    given = spec.get("tolerations") or []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        known = any(item.get("key", key) == key and item.get("effect", "NoExecute") == "NoExecute" for item in given)
        if not known:
            given = [*given, {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    spec["tolerations"] = given


def update_pod(new: Json, old: Json) -> None:
    new["status"] = old["status"]


def quality(spec: Json) -> str:
    """The quality of service class, from the containers' requests and limits."""
    requests: dict[str, Fraction] = {}
    limits: dict[str, Fraction] = {}
    guaranteed = True
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        limited = {
            name: amount_of(value)
            for name, value in (resources.get("limits") or {}).items()
            if name in ("cpu", "memory")
        }
        for name, value in (resources.get("requests") or {}).items():
            if name in ("cpu", "memory") and amount_of(value):
                requests[name] = requests.get(name, Fraction(0)) + amount_of(value)
        for name, amount in limited.items():
            if amount:
                limits[name] = limits.get(name, Fraction(0)) + amount
        guaranteed = guaranteed and {name for name, amount in limited.items() if amount} == {"cpu", "memory"}
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def pod_grace(pod: Json, requested: int | None) -> int | None:
    """A Pod that runs on a node gets its grace period; one that never ran, or has finished, is deleted at once."""
    period = requested if requested is not None else pod["spec"].get("terminationGracePeriodSeconds")
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    return 1 if period is not None and period < 0 else (period if period is not None else 0)
