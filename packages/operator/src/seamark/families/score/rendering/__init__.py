"""The Kubernetes runtime renders plans of its class.

It is one runtime among others: of the Score kinds the Kubernetes runtime reads WorkloadPlan and WorkloadExposure alone,
and writes the status of these alone. A foreign runtime does the same with the same rights.
"""
