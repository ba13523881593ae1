"""The sweep: what the edge has for Services and CloudEndpoints of this cluster that are gone."""
