"""The controllers of the embedded cluster, on our own core: what kube-controller-manager does on a real one.

Deployment → ReplicaSet → Pods, StatefulSet → Pods, Service → EndpointSlices, Namespace → its default account. Garbage
and the end of namespaces are the store's own.
"""
