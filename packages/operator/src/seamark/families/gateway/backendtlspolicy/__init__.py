"""BackendTLSPolicy: how gateways connect to backends, and how these are verified."""
