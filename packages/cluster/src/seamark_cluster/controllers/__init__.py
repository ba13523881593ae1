"""The controllers of the embedded cluster, built on seamark_runtime: what kube-controller-manager does on a real one.

Deployment → ReplicaSet → Pods, StatefulSet → Pods, Service → EndpointSlices, Namespace → its default ServiceAccount.
Garbage collection and namespace deletion are part of the embedded API server.
"""
