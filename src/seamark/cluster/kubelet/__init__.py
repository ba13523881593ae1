"""The process kubelet: Pods whose images are in a table run as processes of this machine.

It stands on the core's client, watch, cache and queue, but is no `Controller`: those judge an object from facts and
keep nothing of their own, while a kubelet owns what it reports on. A Pod's processes live between two passes, and their
order (address, files, init containers, containers, the end) is a course of events, not a set of wants. So each Pod has
a `life.Life` of its own, whose facts wake its key; what the status should say then is judged by pure code (`status`).
"""
