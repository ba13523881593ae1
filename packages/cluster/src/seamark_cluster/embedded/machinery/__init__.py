"""What every kind is built on: errors, names, metadata, selectors, revisions, field sets and merging by shape."""
