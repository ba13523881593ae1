"""Services of type LoadBalancer, reached through an edge; and the kinds that they are made of."""
