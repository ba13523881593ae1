"""What the kinds of the family share: options, dependencies, conditions of a Workload, values of a plan."""
