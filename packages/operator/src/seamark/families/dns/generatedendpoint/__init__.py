"""DNSEndpoints generated for the names of other objects: so that the status of a route's name is visible.

- One DNSEndpoint for each object that has names in our zones, in its namespace, owned by it: it is deleted with it.
- An object that has no address right now keeps the records that it has.
- A foreign DNSEndpoint of that name is not changed.
"""
