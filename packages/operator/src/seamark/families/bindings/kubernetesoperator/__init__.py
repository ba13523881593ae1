"""KubernetesOperator: this installation at the edge."""
