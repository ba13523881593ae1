"""The sample family: one kind with one child, one status, and something outside. Copy its shape."""
