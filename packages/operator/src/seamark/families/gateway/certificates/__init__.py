"""Certificates and authorities that gateways and policies refer to."""
