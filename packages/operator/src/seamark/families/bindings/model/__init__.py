"""What the kinds of the family share: options, dependencies, ownership, targets, and the entries of collections."""
