"""What the kinds of the gateway family share: options, dependencies, and the entries of its collections."""
