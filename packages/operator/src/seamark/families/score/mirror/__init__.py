"""The mirror shows on a Workload what its runtime published: the endpoint unmodified, and RuntimeReady."""
