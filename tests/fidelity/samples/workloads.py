"""Pods and workloads."""

from __future__ import annotations

from tests.fidelity.samples.base import Json, Sample

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

BUDGET = Sample(
    "policy/v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    {"spec": {"minAvailable": 1, "selector": SELECTOR}},
    {
        "percent": {"spec": {"minAvailable": "50%"}},
        "unavailable": {"spec": {"minAvailable": None, "maxUnavailable": 1}},
        "unhealthy": {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}},
    },
    {
        "both": {"spec": {"maxUnavailable": 1}},
        "negative": {"spec": {"minAvailable": -1}},
        "bad-percent": {"spec": {"minAvailable": "150%"}},
        "bad-text": {"spec": {"minAvailable": "many"}},
        "bad-unhealthy": {"spec": {"unhealthyPodEvictionPolicy": "Nonsense"}},
    },
    status={"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
    bad_status={"disruptionsAllowed": -1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
)
