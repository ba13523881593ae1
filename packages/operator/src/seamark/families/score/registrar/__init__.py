"""The registrar asks a runtime to publish: one WorkloadExposure for each planned Workload, and only its spec."""
