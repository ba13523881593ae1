"""Deployment → its ReplicaSets: the rollout from one template to the next, and the revision history."""
