"""The Score family: a Workload's endpoint is what its runtime published, and nothing else.

Four parts, each with an identity and fields of its own: the `orchestrator` plans (with `configuration` and
`provisioner`), the `registrar` asks a runtime to publish, a runtime publishes (ours for Kubernetes: `rendering`,
`workloadplan`, `workloadexposure`; or a foreign one), the `mirror` shows it on the Workload.
"""
