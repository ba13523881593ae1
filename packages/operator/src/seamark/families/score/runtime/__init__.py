"""The Kubernetes runtime: it renders plans of its class, and publishes where what it rendered can be reached.

It is one runtime among others: of the Score kinds it reads WorkloadPlan and WorkloadExposure alone, and writes
WorkloadExposure.status alone. A foreign runtime does the same with the same rights.
"""
