"""The list of built-in kinds."""

from __future__ import annotations

from seamark_cluster.embedded.builtin import objects, workloads
from seamark_cluster.embedded.builtin.kind import BuiltinKind, Rules
from seamark_cluster.embedded.builtin.validation import claims, networks, others, pods, services
from seamark_cluster.embedded.builtin.validation import workloads as workload_checks
from seamark_cluster.embedded.builtin.validation.definitions import check_definition, check_definition_update
from seamark_cluster.embedded.machinery.fieldsets import Trie
from seamark_cluster.embedded.machinery.kinds import ALL_VERBS, Names, Policy
from seamark_cluster.embedded.machinery.names import label, path_segment

_RESET: Trie = {"f:status": {}}
_RESET_STATUS: Trie = {"f:spec": {}}
_RESET_STATUS_META: Trie = {"f:spec": {}, "f:metadata": {}}
_NO_COLLECTION = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

_CORE = "core/v1"
_APPS = "apps/v1"
_RBAC = "rbac/v1"
_RBAC_GROUP = "rbac.authorization.k8s.io"
_ADMISSION_GROUP = "admissionregistration.k8s.io"

_INVOLVED = tuple(
    f"involvedObject.{name}"
    for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
)

_STATUS = Policy(subresources=("status",), reset=_RESET, reset_status=_RESET_STATUS)
_SCALED = Policy(subresources=("status", "scale"), reset=_RESET, reset_status=_RESET_STATUS)
_PLAIN = Policy()
_UPSERT = Policy(create_on_update=True)
_STRICT = Policy(unconditional_update=False)


def _names(kind: str, plural: str, group: str = "", short: tuple[str, ...] = (), *, namespaced: bool = True) -> Names:
    return Names(group, "v1", kind, plural, namespaced, kind.lower(), short)


_CORE_KINDS: tuple[BuiltinKind, ...] = (
    BuiltinKind(
        _names("Namespace", "namespaces", short=("ns",), namespaced=False),
        f"{_CORE}.Namespace",
        Policy(
            verbs=_NO_COLLECTION,
            subresources=("status", "finalize"),
            reset=_RESET,
            reset_status=_RESET_STATUS,
        ),
        Rules(
            default=objects.default_namespace,
            create=objects.create_namespace,
            update=objects.update_namespace,
            name=label,
            fields=("status.phase",),
            validate=others.check_namespace,
            validate_status=others.check_namespace_status,
        ),
    ),
    BuiltinKind(
        _names("ConfigMap", "configmaps", short=("cm",)),
        f"{_CORE}.ConfigMap",
        _PLAIN,
        Rules(validate=others.check_config_map, validate_update=others.check_config_map_update),
    ),
    BuiltinKind(
        _names("Secret", "secrets"),
        f"{_CORE}.Secret",
        _PLAIN,
        Rules(
            default=objects.default_secret,
            fields=("type",),
            validate=others.check_secret,
            validate_update=others.check_secret_update,
        ),
    ),
    BuiltinKind(
        _names("Service", "services", short=("svc",)),
        f"{_CORE}.Service",
        Policy(subresources=("status",), create_on_update=True, reset=_RESET, reset_status=_RESET_STATUS),
        Rules(
            default=objects.default_service,
            update=objects.update_service,
            show=objects.show_service,
            warn=objects.warn_service,
            fields=("spec.clusterIP", "spec.type"),
            name=label,
            validate=services.check_service,
            validate_update=services.check_service_update,
            validate_status=services.check_status,
        ),
    ),
    BuiltinKind(
        _names("Pod", "pods", short=("po",)),
        f"{_CORE}.Pod",
        Policy(
            subresources=("status", "binding", "eviction", "log", "ephemeralcontainers", "resize"),
            reset=_RESET,
            reset_status={"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
        ),
        Rules(
            default=workloads.default_pod,
            create=workloads.create_pod,
            update=workloads.update_pod,
            grace=workloads.pod_grace,
            status=workloads.status_pod,
            validate=pods.check_pod,
            validate_update=pods.check_pod_update,
            generation=("spec",),
            fields=(
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.nominatedNodeName",
            ),
        ),
    ),
    BuiltinKind(
        _names("Node", "nodes", short=("no",), namespaced=False),
        f"{_CORE}.Node",
        _STATUS,
        Rules(
            default=objects.default_node,
            keeps_status=True,
            fields=("spec.unschedulable",),
            validate=others.check_node,
            validate_update=others.check_node_update,
        ),
    ),
    BuiltinKind(
        _names("ServiceAccount", "serviceaccounts", short=("sa",)),
        f"{_CORE}.ServiceAccount",
        Policy(subresources=("token",)),
        Rules(),
    ),
    BuiltinKind(
        _names("ResourceQuota", "resourcequotas", short=("quota",)),
        f"{_CORE}.ResourceQuota",
        _STATUS,
        Rules(validate=others.check_quota),
    ),
    BuiltinKind(
        _names("Endpoints", "endpoints", short=("ep",)),
        f"{_CORE}.Endpoints",
        Policy(
            create_on_update=True,
            deprecated="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        ),
        Rules(default=objects.default_endpoints, validate=networks.check_endpoints),
    ),
    BuiltinKind(
        _names("PersistentVolumeClaim", "persistentvolumeclaims", short=("pvc",)),
        f"{_CORE}.PersistentVolumeClaim",
        _STATUS,
        Rules(
            default=workloads.default_claim,
            decode=workloads.decode_claim,
            validate=claims.check_claim,
            validate_update=claims.check_claim_update,
        ),
    ),
    BuiltinKind(
        _names("Event", "events", short=("ev",)),
        f"{_CORE}.Event",
        Policy(create_on_update=True, collects=False),
        Rules(
            default=objects.default_event,
            name=path_segment,
            validate=others.check_core_event,
            fields=(*_INVOLVED, "reason", "reportingComponent", "source", "type"),
        ),
    ),
)


_APPS_KINDS: tuple[BuiltinKind, ...] = (
    BuiltinKind(
        _names("Deployment", "deployments", "apps", ("deploy",)),
        f"{_APPS}.Deployment",
        Policy(
            subresources=("status", "scale"),
            reset=_RESET,
            reset_status={"f:spec": {}, "f:metadata": {"f:labels": {}}},
        ),
        Rules(
            default=workloads.default_deployment,
            generation=("spec", "metadata.annotations"),
            status=workloads.status_deployment,
            validate=workload_checks.check_deployment,
            validate_update=workload_checks.selector_stays,
            validate_status=workload_checks.check_deployment_status,
        ),
    ),
    BuiltinKind(
        _names("StatefulSet", "statefulsets", "apps", ("sts",)),
        f"{_APPS}.StatefulSet",
        _SCALED,
        Rules(
            default=workloads.default_stateful_set,
            name=label,
            generation=("spec",),
            validate=workload_checks.check_stateful_set,
            validate_update=workload_checks.check_stateful_set_update,
        ),
    ),
    BuiltinKind(
        _names("ReplicaSet", "replicasets", "apps", ("rs",)),
        f"{_APPS}.ReplicaSet",
        _SCALED,
        Rules(
            default=workloads.default_replica_set,
            generation=("spec",),
            validate=workload_checks.check_replica_set,
            validate_update=workload_checks.selector_stays,
            validate_status=workload_checks.check_replica_set_status,
        ),
    ),
    BuiltinKind(
        _names("DaemonSet", "daemonsets", "apps", ("ds",)),
        f"{_APPS}.DaemonSet",
        _STATUS,
        Rules(default=workloads.default_daemon_set, generation=("spec",)),
    ),
    BuiltinKind(
        _names("ControllerRevision", "controllerrevisions", "apps"), f"{_APPS}.ControllerRevision", _PLAIN, Rules()
    ),
    BuiltinKind(
        _names("Job", "jobs", "batch"),
        "batch/v1.Job",
        _STATUS,
        Rules(default=workloads.default_job, generation=("spec",), fields=("status.successful",)),
    ),
    BuiltinKind(
        _names("CronJob", "cronjobs", "batch", ("cj",)),
        "batch/v1.CronJob",
        _STATUS,
        Rules(default=workloads.default_cron_job, generation=("spec",)),
    ),
    BuiltinKind(
        _names("PodDisruptionBudget", "poddisruptionbudgets", "policy", ("pdb",)),
        "policy/v1.PodDisruptionBudget",
        Policy(subresources=("status",), unconditional_update=False, reset=_RESET, reset_status=_RESET_STATUS),
        Rules(
            generation=("spec",),
            name=path_segment,
            validate=claims.check_budget,
            validate_status=claims.check_budget_status,
        ),
    ),
)


_NETWORKING_KINDS: tuple[BuiltinKind, ...] = (
    BuiltinKind(
        _names("Ingress", "ingresses", "networking.k8s.io", ("ing",)),
        "networking/v1.Ingress",
        _STATUS,
        Rules(generation=("spec",), validate=others.check_ingress),
    ),
    BuiltinKind(
        _names("IngressClass", "ingressclasses", "networking.k8s.io", namespaced=False),
        "networking/v1.IngressClass",
        _PLAIN,
        Rules(
            default=objects.default_ingress_class,
            generation=("spec",),
            validate=networks.check_ingress_class,
            validate_update=networks.check_ingress_class_update,
        ),
    ),
    BuiltinKind(
        _names("NetworkPolicy", "networkpolicies", "networking.k8s.io", ("netpol",)),
        "networking/v1.NetworkPolicy",
        _PLAIN,
        Rules(
            default=objects.default_network_policy,
            generation=("spec",),
            validate=networks.check_network_policy,
        ),
    ),
    BuiltinKind(
        _names("EndpointSlice", "endpointslices", "discovery.k8s.io"),
        "discovery/v1.EndpointSlice",
        _PLAIN,
        Rules(
            default=objects.default_endpoint_slice,
            generation=("endpoints", "ports", "addressType", "metadata.labels"),
            immutable=("addressType",),
            validate=others.check_endpoint_slice,
        ),
    ),
    BuiltinKind(
        _names("Lease", "leases", "coordination.k8s.io"),
        "coordination/v1.Lease",
        Policy(create_on_update=True, unconditional_update=False),
        Rules(validate=others.check_lease),
    ),
)


def _rbac(kind: str, plural: str, rules: Rules, *, namespaced: bool) -> BuiltinKind:
    names = _names(kind, plural, _RBAC_GROUP, namespaced=namespaced)
    return BuiltinKind(names, f"{_RBAC}.{kind}", _UPSERT, rules)


_ROLE = Rules(name=path_segment, validate=others.check_rules)
_BINDING = Rules(
    default=objects.default_binding,
    name=path_segment,
    validate=others.check_binding,
    validate_update=others.check_binding_update,
)
_ACCESS_KINDS: tuple[BuiltinKind, ...] = (
    _rbac("Role", "roles", _ROLE, namespaced=True),
    _rbac("ClusterRole", "clusterroles", _ROLE, namespaced=False),
    _rbac("RoleBinding", "rolebindings", _BINDING, namespaced=True),
    _rbac("ClusterRoleBinding", "clusterrolebindings", _BINDING, namespaced=False),
)


_ADMISSION = "admissionregistration/v1"
_EXTENSION_KINDS: tuple[BuiltinKind, ...] = (
    BuiltinKind(
        _names("ValidatingAdmissionPolicy", "validatingadmissionpolicies", _ADMISSION_GROUP, namespaced=False),
        f"{_ADMISSION}.ValidatingAdmissionPolicy",
        Policy(subresources=("status",), unconditional_update=False, reset=_RESET, reset_status=_RESET_STATUS_META),
        Rules(default=objects.default_policy, generation=("spec",)),
    ),
    BuiltinKind(
        _names(
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
            _ADMISSION_GROUP,
            namespaced=False,
        ),
        f"{_ADMISSION}.ValidatingAdmissionPolicyBinding",
        _STRICT,
        Rules(default=objects.default_policy_binding, generation=("spec",)),
    ),
    BuiltinKind(
        _names(
            "CustomResourceDefinition",
            "customresourcedefinitions",
            "apiextensions.k8s.io",
            ("crd", "crds"),
            namespaced=False,
        ),
        "apiextensions/v1.CustomResourceDefinition",
        Policy(subresources=("status",), unconditional_update=False, reset=_RESET, reset_status=_RESET_STATUS_META),
        Rules(
            default=objects.default_definition,
            create=objects.create_definition,
            generation=("spec",),
            validate=check_definition,
            validate_update=check_definition_update,
        ),
    ),
)


def builtin_kinds() -> list[BuiltinKind]:
    return [*_CORE_KINDS, *_APPS_KINDS, *_NETWORKING_KINDS, *_ACCESS_KINDS, *_EXTENSION_KINDS]
