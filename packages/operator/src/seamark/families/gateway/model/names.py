"""Names that several kinds use: of the controller, of labels, and of the objects made for a gateway."""

from __future__ import annotations

import hashlib

from seamark_runtime.api.meta import Key

CONTROLLER_NAME = "kgateway.dev/kgateway"
CLASS_NAME = "kgateway"
MANAGER = "seamark-gateways"
OWNER_NAME, OWNER_NAMESPACE = "gateway.seamark.dev/owner", "gateway.seamark.dev/owner-namespace"
GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
GATEWAY_NAMESPACE = "gateway.networking.k8s.io/gateway-namespace"


def child_name(gateway: Key) -> str:
    """The name of the objects made for a gateway: always the same, and short enough for a Service."""
    digest = hashlib.sha256(f"{gateway.namespace}/{gateway.name}".encode()).hexdigest()[:8]
    return f"gw-{gateway.name[:40].strip('-.').replace('.', '-')}-{digest}"
