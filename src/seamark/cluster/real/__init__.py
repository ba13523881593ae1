"""The real control plane on one machine: etcd, kube-apiserver and kube-controller-manager, built or found.

`plane.ControlPlane` is the way in.
"""
