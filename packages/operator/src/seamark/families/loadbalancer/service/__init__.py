"""Service: of type LoadBalancer and our class, reached through endpoints at the edge."""
