"""Names of Services, Ingresses, Gateways and routes, by their annotations, spec and status."""
