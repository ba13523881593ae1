"""Small objects of the core group, and similar kinds."""

from __future__ import annotations

from tests.fidelity.samples.base import Sample

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

SERVICE_ACCOUNT = Sample(
    "v1",
    "ServiceAccount",
    "serviceaccounts",
    {"automountServiceAccountToken": False},
    {"secrets": {"secrets": [{"name": "x"}]}, "mount": {"automountServiceAccountToken": True}},
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

NAMESPACE = Sample(
    "v1",
    "Namespace",
    "namespaces",
    {},
    {"label": {"metadata": {"labels": {"team": "x"}}}, "finalizer": {"spec": {"finalizers": ["example.com/hold"]}}},
    {"bad-finalizer-spec": {"spec": {"finalizers": ["no slash"]}}, "type": {"spec": {"finalizers": "x"}}},
    status={"phase": "Active"},
    namespaced=False,
    fields={"status.phase": "Active"},
)

CORE_EVENT = Sample(
    "v1",
    "Event",
    "events",
    {
        "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "namespace": "$ns"},
        "reason": "Done",
        "message": "It is done",
        "type": "Normal",
        "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "me"},
    },
    {
        "count": {"count": 2, "lastTimestamp": "2026-01-01T00:01:00Z"},
        "type": {"type": "Warning"},
        "note": {"message": "It is undone"},
    },
    {
        "elsewhere": {"involvedObject": {"namespace": "elsewhere"}},
        "no-namespace": {"involvedObject": {"namespace": None}},
        "new-style": {"eventTime": "2026-01-01T00:00:00.000000Z"},
    },
    fields={"involvedObject.name": "x", "reason": "Done", "type": "Normal"},
    row="v1 Event",
)

CLAIM = Sample(
    "v1",
    "PersistentVolumeClaim",
    "persistentvolumeclaims",
    {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
    {
        "class": {"spec": {"storageClassName": "fast"}},
        "bigger": {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
        "volume": {"spec": {"volumeName": "v"}},
    },
    {
        "no-modes": {"spec": {"accessModes": None}},
        "bad-mode": {"spec": {"accessModes": ["Nonsense"]}},
        "no-storage": {"spec": {"resources": None}},
        "negative": {"spec": {"resources": {"requests": {"storage": "-1"}}}},
        "bad-volume-mode": {"spec": {"volumeMode": "Nonsense"}},
        "bad-class": {"spec": {"storageClassName": "A B"}},
    },
    status={"phase": "Bound", "capacity": {"storage": "1Gi"}},
)

ENDPOINTS = Sample(
    "v1",
    "Endpoints",
    "endpoints",
    {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "http", "port": 80}]}]},
    {
        "more": {"subsets": [{"addresses": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
        "none": {"subsets": None},
    },
    {
        "bad-address": {"subsets": [{"addresses": [{"ip": "nonsense"}], "ports": [{"port": 80}]}]},
        "loopback": {"subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 80}]}]},
        "bad-port": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 70000}]}]},
        "empty": {"subsets": [{}]},
    },
)
