"""Services of type LoadBalancer, reached through an edge; and the kinds that this leans on."""
