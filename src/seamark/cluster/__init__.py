"""A cluster on one machine: the real control plane, and an embedded one."""
