"""What is online at the edge: one poll for all endpoints, an entry about each."""
