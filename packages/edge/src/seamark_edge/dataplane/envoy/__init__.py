"""Envoy: configured over delta xDS, and on one machine also started and kept running."""

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # read when gRPC is loaded; we fork only to start programs
