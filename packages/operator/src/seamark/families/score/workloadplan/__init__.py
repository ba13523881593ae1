"""The status of a WorkloadPlan, by the Kubernetes runtime."""
