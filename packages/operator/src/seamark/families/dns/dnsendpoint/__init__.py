"""A DNSEndpoint: its status is judged from the entries of its zones about it."""
