"""TrafficPolicy: timeouts, retries, limits and headers for gateways, listeners, routes and rules."""
