"""The self-hosted edge: agent sessions, REST API, public listeners, bindings ingress."""
