"""The Score family: a Workload's endpoint is what its runtime published, and nothing else.

Four controllers, each with an identity and fields of its own: the `orchestrator` plans, the `registrar` asks a runtime
to publish, a `runtime` (ours for Kubernetes, or a foreign one) publishes, the `mirror` shows it on the Workload.
"""
