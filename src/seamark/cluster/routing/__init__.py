"""Services that route: a proxy in this process, following Services and EndpointSlices."""
