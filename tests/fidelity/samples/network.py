"""Services, their endpoints and ingresses, and roles."""

from __future__ import annotations

from tests.fidelity.samples.base import Sample

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

CLUSTER_ROLE_BINDING = Sample(
    "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "nobody"}],
    },
    {"subjects": {"subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}]}},
    {
        "no-role": {"roleRef": None},
        "namespaced-role": {"roleRef": {"kind": "Role"}},
        "bad-subject": {"subjects": [{"kind": "Nonsense", "name": "x"}]},
        "no-namespace": {"subjects": [{"kind": "ServiceAccount", "name": "s"}]},
    },
    namespaced=False,
)

INGRESS_CLASS = Sample(
    "networking.k8s.io/v1",
    "IngressClass",
    "ingressclasses",
    {"spec": {"controller": "example.com/ingress"}},
    {
        "default": {"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "false"}}},
        "parameters": {"spec": {"parameters": {"apiGroup": "example.com", "kind": "Widget", "name": "w"}}},
    },
    {
        "no-controller": {"spec": {"controller": None}},
        "bad-controller": {"spec": {"controller": "no domain"}},
        "bad-scope": {"spec": {"parameters": {"kind": "Widget", "name": "w", "scope": "Nonsense"}}},
        "no-name": {"spec": {"parameters": {"kind": "Widget"}}},
    },
    namespaced=False,
)

NETWORK_POLICY = Sample(
    "networking.k8s.io/v1",
    "NetworkPolicy",
    "networkpolicies",
    {
        "spec": {
            "podSelector": {"matchLabels": {"app": "a"}},
            "ingress": [{"ports": [{"port": 80}], "from": [{"namespaceSelector": {}}]}],
        }
    },
    {
        "egress": {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}]}},
        "types": {"spec": {"policyTypes": ["Egress", "Ingress"]}},
        "everything": {"spec": {"podSelector": {"matchLabels": None}, "ingress": [{}]}},
    },
    {
        "bad-port": {"spec": {"ingress": [{"ports": [{"port": 70000}]}]}},
        "bad-port-name": {"spec": {"ingress": [{"ports": [{"port": "A B"}]}]}},
        "bad-protocol": {"spec": {"ingress": [{"ports": [{"port": 80, "protocol": "ICMP"}]}]}},
        "bad-block": {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "nonsense"}}]}]}},
        "bad-except": {
            "spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]}]}
        },
        "two-peers": {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}]}},
        "no-peer": {"spec": {"ingress": [{"from": [{}]}]}},
        "bad-type": {"spec": {"policyTypes": ["Nonsense"]}},
    },
)
