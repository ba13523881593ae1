"""On a cluster: the Envoys of a gateway as Pods, and the Service before them."""
