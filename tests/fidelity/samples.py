"""One sample per kind: a good object, changes to it that are allowed, and mistakes that are not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """What the fidelity tests do with a kind.

    `changes` and `mistakes` are merge patches over the good object, by a word that says what they do.
    """

    api_version: str
    kind: str
    plural: str
    good: Json
    changes: dict[str, Json] = field(default_factory=dict)
    mistakes: dict[str, Json] = field(default_factory=dict)
    status: Json | None = None
    bad_status: Json | None = None
    namespaced: bool = True
    fields: dict[str, str] = field(default_factory=dict)
    subresources: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.kind

    @property
    def root(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    def collection(self, namespace: str) -> str:
        scope = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{self.root}{scope}/{self.plural}"


def meta_mistakes() -> dict[str, Json]:
    """What may be wrong with the metadata of any kind."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}
    return {
        "bad-label-key": {"metadata": {"labels": {"a b": "c"}}},
        "bad-label-value": {"metadata": {"labels": {"a": "-c-"}}},
        "bad-annotation": {"metadata": {"annotations": {"/x": "c"}}},
        "bad-finalizer": {"metadata": {"finalizers": ["a/b/c"]}},
        "bad-owner": {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]}},
        "two-controllers": {
            "metadata": {"ownerReferences": [{**owner, "controller": True}, {**owner, "uid": "2", "controller": True}]}
        },
        "wrong-label-type": {"metadata": {"labels": {"a": 1}}},
    }


CONTAINER: Json = {"name": "c", "image": "nginx", "ports": [{"containerPort": 80}]}
SELECTOR: Json = {"matchLabels": {"app": "a"}}
TEMPLATE: Json = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
RICH_CONTAINER: Json = {
    "name": "c",
    "image": "nginx:1.2",
    "ports": [{"name": "http", "containerPort": 80}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}},
    "readinessProbe": {"httpGet": {"port": "http"}},
    "livenessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 3},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
}

CONFIG_MAP = Sample(
    "v1",
    "ConfigMap",
    "configmaps",
    {"data": {"a": "1", "b": "2"}},
    {
        "data": {"data": {"a": "9"}},
        "less": {"data": {"b": None}},
        "binary": {"binaryData": {"x": "aGk="}},
        "empty": {"data": {"a": ""}},
        "immutable": {"immutable": True},
    },
    {
        "bad-key": {"data": {"a b": "1"}},
        "twice": {"binaryData": {"a": "aGk="}},
        "type": {"data": {"a": 1}},
        "not-base64": {"binaryData": {"x": "*"}},
        "dots": {"data": {"..a": "1"}},
    },
)

SECRET = Sample(
    "v1",
    "Secret",
    "secrets",
    {"data": {"a": "aGk="}},
    {"string": {"stringData": {"b": "there"}}, "data": {"data": {"a": "aG8="}}},
    {"bad-key": {"data": {"a b": "aGk="}}, "not-base64": {"data": {"a": "*"}}, "type": {"type": "kubernetes.io/tls"}},
    fields={"type": "Opaque"},
)

SERVICE = Sample(
    "v1",
    "Service",
    "services",
    {"spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}},
    {
        "two-ports": {"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81, "targetPort": "x"}]}},
        "selector": {"spec": {"selector": {"app": "b"}}},
        "headless": {"spec": {"clusterIP": "None"}},
        "external-name": {"spec": {"type": "ExternalName", "externalName": "a.example.com", "selector": None}},
        "affinity": {"spec": {"sessionAffinity": "ClientIP"}},
        "load-balancer": {"spec": {"type": "LoadBalancer"}},
        "node-port": {"spec": {"type": "NodePort"}},
    },
    {
        "no-ports": {"spec": {"ports": None}},
        "bad-port": {"spec": {"ports": [{"port": 70000}]}},
        "unnamed-ports": {"spec": {"ports": [{"port": 80}, {"port": 81}]}},
        "same-ports": {"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}},
        "bad-type": {"spec": {"type": "Nonsense"}},
        "bad-protocol": {"spec": {"ports": [{"port": 80, "protocol": "ICMP"}]}},
        "bad-address": {"spec": {"clusterIP": "nonsense"}},
        "outside-address": {"spec": {"clusterIP": "10.1.2.3"}},
        "no-external-name": {"spec": {"type": "ExternalName"}},
        "bad-affinity": {"spec": {"sessionAffinity": "Nonsense"}},
    },
    status={"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
    bad_status={"loadBalancer": {"ingress": [{"ip": "nonsense"}]}},
    fields={"spec.type": "ClusterIP"},
)

POD = Sample(
    "v1",
    "Pod",
    "pods",
    {"spec": {"containers": [CONTAINER]}},
    {
        "rich": {"spec": {"containers": [RICH_CONTAINER], "volumes": [{"name": "v", "emptyDir": {}}]}},
        "image": {"spec": {"containers": [{**CONTAINER, "image": "nginx:2"}]}},
        "node": {"spec": {"nodeName": "n1"}},
    },
    {
        "no-containers": {"spec": {"containers": []}},
        "no-image": {"spec": {"containers": [{"name": "c"}]}},
        "bad-name": {"spec": {"containers": [{"name": "C_", "image": "i"}]}},
        "bad-restart": {"spec": {"restartPolicy": "Sometimes"}},
        "bad-port": {"spec": {"containers": [{**CONTAINER, "ports": [{"containerPort": 0}]}]}},
        "no-volume": {
            "spec": {"containers": [{**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]},
        },
        "same-names": {"spec": {"containers": [CONTAINER, CONTAINER]}},
        "quantity": {"spec": {"containers": [{**CONTAINER, "resources": {"limits": {"cpu": "x"}}}]}},
    },
    status={"phase": "Running", "podIP": "10.0.0.1"},
    fields={"status.phase": "Pending", "spec.nodeName": "n1"},
)

DEPLOYMENT = Sample(
    "apps/v1",
    "Deployment",
    "deployments",
    {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    {
        "replicas": {"spec": {"replicas": 3}},
        "image": {"spec": {"template": {"spec": {"containers": [{**CONTAINER, "image": "nginx:2"}]}}}},
        "annotation": {"metadata": {"annotations": {"a": "b"}}},
        "recreate": {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
        "rich": {
            "spec": {
                "template": {
                    "spec": {"containers": [RICH_CONTAINER], "volumes": [{"name": "v", "configMap": {"name": "x"}}]}
                }
            }
        },
    },
    {
        "no-selector": {"spec": {"selector": None}},
        "no-match": {"spec": {"selector": {"matchLabels": {"app": "b"}}}},
        "negative": {"spec": {"replicas": -1}},
        "type": {"spec": {"replicas": "x"}},
        "no-image": {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}},
        "bad-strategy": {"spec": {"strategy": {"type": "Nonsense"}}},
    },
    status={"replicas": 1, "observedGeneration": 1},
    bad_status={"replicas": -1},
)

STATEFUL_SET = Sample(
    "apps/v1",
    "StatefulSet",
    "statefulsets",
    {"spec": {"serviceName": "s", "selector": SELECTOR, "template": TEMPLATE}},
    {"replicas": {"spec": {"replicas": 3}}},
    {
        "no-match": {"spec": {"selector": {"matchLabels": {"app": "b"}}}},
        "negative": {"spec": {"replicas": -1}},
        "service-name": {"spec": {"podManagementPolicy": "Nonsense"}},
    },
    status={"replicas": 1},
)

REPLICA_SET = Sample(
    "apps/v1",
    "ReplicaSet",
    "replicasets",
    {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    {"replicas": {"spec": {"replicas": 2}}},
    {"no-match": {"spec": {"selector": {"matchLabels": {"app": "b"}}}}, "negative": {"spec": {"replicas": -1}}},
    status={"replicas": 1, "fullyLabeledReplicas": 1},
)

LEASE = Sample(
    "coordination.k8s.io/v1",
    "Lease",
    "leases",
    {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
    {
        "renew": {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}},
        "holder": {"spec": {"holderIdentity": "you"}},
        "release": {"spec": {"holderIdentity": None}},
    },
    {"duration": {"spec": {"leaseDurationSeconds": 0}}, "transitions": {"spec": {"leaseTransitions": -1}}},
)

EVENT = Sample(
    "events.k8s.io/v1",
    "Event",
    "events",
    {
        "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "namespace": "$ns"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/me",
        "reportingInstance": "me-1",
        "action": "Doing",
        "reason": "Done",
        "note": "It is done",
        "type": "Normal",
    },
    {"series": {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}},
    {
        "no-reason": {"reason": None},
        "no-action": {"action": None},
        "bad-type": {"type": "Nonsense"},
        "no-controller": {"reportingController": None},
    },
)

SERVICE_ACCOUNT = Sample(
    "v1",
    "ServiceAccount",
    "serviceaccounts",
    {"automountServiceAccountToken": False},
    {"secrets": {"secrets": [{"name": "x"}]}, "mount": {"automountServiceAccountToken": True}},
)

ENDPOINT_SLICE = Sample(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    "endpointslices",
    {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"name": "http", "port": 80}]},
    {
        "ready": {"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}]},
        "more": {"endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}]},
        "label": {"metadata": {"labels": {"kubernetes.io/service-name": "s"}}},
    },
    {
        "bad-type": {"addressType": "Nonsense"},
        "no-type": {"addressType": None},
        "bad-address": {"endpoints": [{"addresses": ["nonsense"]}]},
        "no-address": {"endpoints": [{"addresses": []}]},
        "bad-port": {"ports": [{"port": 70000}]},
    },
)

INGRESS = Sample(
    "networking.k8s.io/v1",
    "Ingress",
    "ingresses",
    {
        "spec": {
            "ingressClassName": "x",
            "rules": [
                {
                    "host": "a.example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ],
        }
    },
    {
        "tls": {"spec": {"tls": [{"hosts": ["a.example.com"], "secretName": "t"}]}},
        "class": {"spec": {"ingressClassName": "y"}},
    },
    {
        "nothing": {"spec": {"rules": None}},
        "bad-host": {"spec": {"rules": [{"host": "A B"}]}},
        "no-path-type": {
            "spec": {
                "rules": [
                    {"http": {"paths": [{"path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}
                ]
            }
        },
    },
    status={"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
)

ROLE = Sample(
    "rbac.authorization.k8s.io/v1",
    "Role",
    "roles",
    {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]},
    {
        "verbs": {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]},
        "none": {"rules": None},
    },
    {
        "no-verbs": {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": []}]},
        "urls": {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
    },
)

ROLE_BINDING = Sample(
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    "rolebindings",
    {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "bob"}],
    },
    {"subjects": {"subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}]}},
    {
        "no-role": {"roleRef": None},
        "bad-subject": {"subjects": [{"kind": "Nonsense", "name": "x"}]},
        "no-namespace": {"subjects": [{"kind": "ServiceAccount", "name": "s"}]},
    },
)

CLUSTER_ROLE = Sample(
    "rbac.authorization.k8s.io/v1",
    "ClusterRole",
    "clusterroles",
    {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]},
    {"urls": {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}},
    {"no-verbs": {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": []}]}},
    namespaced=False,
)

NODE = Sample(
    "v1",
    "Node",
    "nodes",
    {"spec": {"podCIDR": "10.244.0.0/24"}},
    {"cordon": {"spec": {"unschedulable": True}}, "label": {"metadata": {"labels": {"zone": "a"}}}},
    {
        "bad-cidr": {"spec": {"podCIDR": "nonsense"}},
        "bad-taint": {"spec": {"taints": [{"key": "a b", "effect": "NoSchedule"}]}},
    },
    status={"capacity": {"cpu": "2", "memory": "1Gi"}},
    namespaced=False,
)

QUOTA = Sample(
    "v1",
    "ResourceQuota",
    "resourcequotas",
    {"spec": {"hard": {"count/gadgets.example.com": "5"}}},
    {"more": {"spec": {"hard": {"count/gadgets.example.com": "6"}}}, "pods": {"spec": {"hard": {"secrets": "100"}}}},
    {"bad-name": {"spec": {"hard": {"no such thing": "1"}}}, "negative": {"spec": {"hard": {"pods": "-1"}}}},
    status={"hard": {"pods": "10"}, "used": {"pods": "0"}},
)

WIDGET = Sample(
    "example.com/v1",
    "Widget",
    "widgets",
    {"spec": {"color": "red", "tags": ["a", "b"], "ports": [{"name": "x", "port": 1}, {"name": "y", "port": 2}]}},
    {
        "size": {"spec": {"size": 5}},
        "tags": {"spec": {"tags": ["b", "c"]}},
        "ports": {"spec": {"ports": [{"name": "y", "port": 3}, {"name": "z", "port": 4}]}},
        "options": {"spec": {"options": {"a": "1", "b": "2"}}},
        "option": {"spec": {"options": {"a": None}}},
        "extra": {"spec": {"extra": {"deep": {"x": 1, "y": [1, 2]}}}},
        "box": {"spec": {"box": {"width": 2, "height": 3}}},
        "null-default": {"spec": {"size": None}},
        "mode-int": {"spec": {"mode": 7}},
        "mode-text": {"spec": {"mode": "seven"}},
        "grow": {"spec": {"limit": 9}},
    },
    {
        "too-big": {"spec": {"size": 11}},
        "too-small": {"spec": {"size": 0}},
        "type": {"spec": {"size": "x"}},
        "enum": {"spec": {"color": "blue"}},
        "long": {"spec": {"title": "abcdef"}},
        "pattern": {"spec": {"title": "A"}},
        "same-tags": {"spec": {"tags": ["a", "a"]}},
        "same-ports": {"spec": {"ports": [{"name": "x", "port": 1}, {"name": "x", "port": 2}]}},
        "required": {"spec": {"color": None}},
        "item": {"spec": {"ports": [{"name": "x"}]}},
        "map-value": {"spec": {"options": {"a": 1}}},
        "many": {"spec": {"tags": ["a", "b", "c", "d", "e", "f"]}},
        "when": {"spec": {"when": "yesterday"}},
        "one-of": {"spec": {"choice": {"a": "1", "b": "2"}}},
        "no-object": {"spec": "x"},
        "rule": {"spec": {"size": 9, "box": {"width": 1, "height": 1}}},
        "nested-rule": {"spec": {"box": {"width": 9, "height": 1}}},
        "shrink": {"spec": {"limit": 1}},
        "kind-of-list": {"spec": {"tags": {"a": "b"}}},
    },
    status={"count": 3, "conditions": [{"type": "Ready", "status": "True", "reason": "Fine"}]},
    bad_status={"count": "x"},
    fields={"spec.color": "red"},
)

GADGET = Sample(
    "example.com/v1",
    "Gadget",
    "gadgets",
    {"spec": {"a": 1}, "status": {"b": 2}},
    {"spec": {"spec": {"a": 2}}, "status": {"status": {"b": 3}}, "any": {"spec": {"x": {"y": ["z"]}}}},
    namespaced=True,
)

SAMPLES = [
    CONFIG_MAP,
    SECRET,
    SERVICE,
    POD,
    DEPLOYMENT,
    STATEFUL_SET,
    REPLICA_SET,
    LEASE,
    EVENT,
    SERVICE_ACCOUNT,
    ENDPOINT_SLICE,
    INGRESS,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    NODE,
    QUOTA,
    WIDGET,
    GADGET,
]

_CONDITIONS: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"}},
    },
}

_WIDGET_SPEC: Json = {
    "type": "object",
    "required": ["color"],
    "properties": {
        "size": {"type": "integer", "default": 3, "minimum": 1, "maximum": 10},
        "color": {"type": "string", "maxLength": 9, "enum": ["red", "green"]},
        "title": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
        "tags": {
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "set",
            "items": {"type": "string", "maxLength": 9},
        },
        "ports": {
            "type": "array",
            "maxItems": 9,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name", "port"],
                "properties": {
                    "name": {"type": "string"},
                    "port": {"type": "integer", "format": "int32"},
                    "protocol": {"type": "string", "default": "TCP"},
                },
            },
        },
        "options": {"type": "object", "additionalProperties": {"type": "string"}},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "box": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"width": {"type": "integer"}, "height": {"type": "integer"}},
            "x-kubernetes-validations": [
                {"rule": "self.width <= self.height * 3", "message": "a box is at most three times as wide as high"}
            ],
        },
        "mode": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
        "limit": {
            "type": "integer",
            "default": 5,
            "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "a limit only grows"}],
        },
        "choice": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
    },
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.box) || self.size < 9 || self.box.width > 1",
            "messageExpression": "'a ' + self.color + ' widget of this size needs a wider box'",
            "fieldPath": ".size",
        }
    ],
}


def definitions() -> list[Json]:
    """The custom kinds of the samples."""
    widget_schema = {
        "type": "object",
        "properties": {
            "spec": _WIDGET_SPEC,
            "status": {
                "type": "object",
                "default": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending"}]},
                "properties": {"conditions": _CONDITIONS, "count": {"type": "integer"}},
            },
        },
    }
    gadget_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        _definition("Widget", "widgets", widget_schema, {"status": {}}, [{"jsonPath": ".spec.color"}]),
        _definition("Gadget", "gadgets", gadget_schema, {}, []),
    ]


def _definition(kind: str, plural: str, schema: Json, subresources: Json, selectable: list[Json]) -> Json:
    version: Json = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if subresources:
        version["subresources"] = subresources
    if selectable:
        version["selectableFields"] = selectable
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }
