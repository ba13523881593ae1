"""What the kinds of the family share: options, dependencies, entries of collections, names."""
