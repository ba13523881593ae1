"""Deployment → its ReplicaSets: a rollout from one template to the next, and the history of them."""
