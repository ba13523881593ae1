"""Data planes: they serve the traffic of gateways, are configured, and report what they serve."""
