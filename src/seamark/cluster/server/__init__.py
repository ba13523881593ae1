"""The embedded store behind HTTPS: an API server in this process that kubectl and any client can talk to."""
