"""A cluster on one machine: the real control plane, and an embedded one."""

__version__ = "0.1.0"
