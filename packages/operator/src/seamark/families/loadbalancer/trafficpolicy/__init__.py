"""NgrokTrafficPolicy: what is done with connections, for the endpoints that name it."""
