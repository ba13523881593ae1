"""The sweep: registrations at the edge whose KubernetesOperator is gone."""
