"""seamark cluster and its subcommands: a real control plane, an embedded one, and a node for either."""

from __future__ import annotations

from seamark_cluster.commands.cluster import app
from seamark_cluster.commands.kubelet import kubelet
from seamark_cluster.commands.serve import serve

app.command("serve")(serve)
app.command("kubelet")(kubelet)

__all__ = ["app"]
