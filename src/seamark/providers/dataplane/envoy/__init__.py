"""Envoy: configured over delta xDS, and on one machine also started and kept running."""
