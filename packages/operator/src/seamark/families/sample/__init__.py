"""The sample family: one kind with one child, one status, and calls to a remote party. Copy its shape."""
