"""How a forwarder runs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class ForwarderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which installation's endpoints a forwarder serves, and how it reaches their edge."""

    kubeconfig: Annotated[str, Meta(description="Which kubeconfig to use; inside a pod none is needed")] = ""
    context: Annotated[str, Meta(description="Which context of the kubeconfig")] = ""
    bindings_namespace: Annotated[str, Meta(description="Where the BoundEndpoints are")] = "seamark-system"
    bindings_operator: Annotated[str, Meta(description="The KubernetesOperator of the installation")] = "seamark"
    bindings_edge_ca: Annotated[
        str, Meta(description="A file of certificates to trust; else the Secret's ca.crt, else the system's")
    ] = ""
    forwarder_bind: Annotated[str, Meta(description="The address to listen on; empty for all")] = ""
    forwarder_connect_seconds: Annotated[float, Meta(description="For the edge to take a connection", gt=0)] = 10.0
    forwarder_drain_seconds: Annotated[float, Meta(description="For connections to end by themselves", ge=0)] = 30.0
    forwarder_secret_reads: Annotated[float, Meta(description="Seconds between two looks at the Secret", ge=1)] = 10.0
    health_address: Annotated[
        str, Meta(description="Where /healthz, /readyz and /metrics are served; empty for nowhere")
    ] = "127.0.0.1:8081"
    log_level: Annotated[
        str, Meta(description="debug, info, warning or error", pattern="^(debug|info|warning|error)$")
    ] = "info"
