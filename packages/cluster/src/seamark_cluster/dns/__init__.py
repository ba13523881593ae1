"""Cluster DNS: the names of Services and Pods, and nothing else."""
