"""The Domains of endpoints: one for each host of a namespace, for all of its endpoints."""
