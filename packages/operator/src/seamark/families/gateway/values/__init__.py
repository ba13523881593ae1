"""Values of routes and policies: what the data plane can take, and durations."""
