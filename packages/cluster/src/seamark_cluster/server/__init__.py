"""The embedded store over HTTPS: an API server in this process for kubectl and any other client."""
