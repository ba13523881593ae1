"""The real control plane on one machine: etcd, kube-apiserver and kube-controller-manager, compiled or downloaded.

`plane.ControlPlane` is the entry point.
"""
