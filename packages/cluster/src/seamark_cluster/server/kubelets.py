"""Where the kubelet of a Pod's node is, and how connections to it are made."""

from __future__ import annotations

import ssl
from typing import Any

import aiohttp

from seamark_cluster.embedded import Store
from seamark_cluster.embedded.calls import Path
from seamark_cluster.embedded.machinery.errors import bad_request, internal, not_found
from seamark_cluster.kubelet.credentials import KubeletPki

Json = dict[str, Any]
LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=5)


class Kubelets:
    """Connections to kubelets. With their `pki` both sides authenticate; without it neither does."""

    def __init__(self, store: Store, pki: KubeletPki | None = None) -> None:
        self._store = store
        self.tls: ssl.SSLContext | bool = False if pki is None else pki.client_context()

    def url(self, place: Path, what: str, wanted: str) -> str:
        """Of what a kubelet has of a Pod's container; ApiError if there is none."""
        pod = self._store.get("pods", place.namespace, place.name)
        if pod is None:
            raise not_found("", "pods", place.name)
        container = _container(pod, wanted)
        node_name = pod["spec"].get("nodeName")
        if not node_name:
            raise bad_request(f"pod {place.name} does not have a host assigned")
        node = self._store.get("nodes", "", node_name)
        if node is None:
            raise not_found("", "nodes", node_name)
        status = node.get("status", {})
        port = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port", 0)
        address = next((item["address"] for item in status.get("addresses") or () if item["type"] == "InternalIP"), "")
        if not port or not address:
            raise internal(f"node {node_name} has no address for its kubelet")
        return f"https://{address}:{port}/{what}/{place.namespace}/{place.name}/{container}"


def _container(pod: Json, wanted: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    every = [entry["name"] for part in ("initContainers", "containers") for entry in spec.get(part) or ()]
    if wanted:
        if wanted not in every:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(every) == 1:
        return str(every[0])
    main, init = ([item["name"] for item in spec.get(part) or ()] for part in ("containers", "initContainers"))
    message = f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]"
    raise bad_request(f"{message} or one of the init containers: [{' '.join(init)}]" if init else message)
