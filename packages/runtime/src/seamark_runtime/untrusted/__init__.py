"""The boundary for untrusted input: names, documents and patterns that a tenant, a client or a remote party chose."""
