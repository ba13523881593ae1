"""seamark cluster, with all that belongs to it: a real control plane, an embedded one, and a node for either."""

from __future__ import annotations

from seamark.cli.cluster import app
from seamark.cli.kubelet import kubelet
from seamark.cli.serve import serve

app.command("serve")(serve)
app.command("kubelet")(kubelet)

__all__ = ["app"]
