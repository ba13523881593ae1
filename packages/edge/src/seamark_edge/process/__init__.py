"""One process of the edge: its ports, its REST API, its state, put together."""
