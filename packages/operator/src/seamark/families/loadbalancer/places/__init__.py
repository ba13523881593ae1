"""Places at the edge: of each, the first claim on it."""
