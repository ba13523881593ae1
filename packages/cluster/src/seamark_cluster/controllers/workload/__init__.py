"""What the workload controllers share: their kinds, ownership and adoption, Pods from templates, status writing."""
