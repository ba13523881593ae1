"""The process kubelet: Pods whose images are in a table run as processes of this machine.

It uses the runtime's client, watch, cache and queue, but is not a `Controller`: a controller judges an object from
facts and has no state of its own, while a kubelet owns the processes that it reports on. They run between reconciles,
in a fixed order (address, files, init containers, containers, termination). So each Pod has a `worker.PodWorker`,
whose facts requeue the Pod's key; the status is then judged by pure code (`status`).
"""
