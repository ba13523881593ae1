"""The official Gateway API conformance suite, on one machine, in a closed network."""
