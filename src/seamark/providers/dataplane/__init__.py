"""Data planes: what serves a gateway's traffic, told what to serve, and asked whether it does."""
