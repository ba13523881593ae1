"""Service routing: a proxy in this process that follows Services and EndpointSlices."""
