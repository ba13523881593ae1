"""Who a connection is from: the Pod that has its address."""

from __future__ import annotations

from collections.abc import Iterable

from seamark_edge.api.podaddress import PodAddress
from seamark_edge.wire.bindings import PodIdentity
from seamark_runtime.cache import Index
from seamark_runtime.source import Informer

UNKNOWN = "bindings.seamark.dev/identity"  # the annotation that says why a Pod is not named
PREFIXES = ("k8s.ngrok.com/", "ngrok.com/")  # annotations that are for the edge
OVER = ("Succeeded", "Failed")
LONGEST = 1024


def addresses(pod: PodAddress) -> Iterable[str]:
    """A Pod's own; one on the host's network has none, and one that is over has given them back."""
    if pod.spec.host_network or pod.status is None or pod.status.phase in OVER:
        return ()
    return [address.ip for address in pod.status.pod_ips or () if address.ip]


BY_ADDRESS = Index(PodAddress, addresses, "pods by address")


def identify(pods: Informer[PodAddress], address: str) -> PodIdentity:
    """The Pod at this address; if it is not known, an identity without a name."""
    found = pods.cache.by(BY_ADDRESS, address)
    if len(found) == 1:
        meta = found[0].metadata
        shared = {name: value for name, value in (meta.annotations or {}).items() if name.startswith(PREFIXES)}
        short = {name: value for name, value in shared.items() if len(name) + len(value) <= LONGEST}
        return PodIdentity(meta.uid, meta.name, meta.namespace, dict(sorted(short.items())[:16]))
    trouble = pods.trouble or ("more than one Pod has" if found else "no Pod has")
    reason = trouble if pods.trouble else f"unknown: {trouble} the address {address}"
    return PodIdentity(annotations={UNKNOWN: reason[:LONGEST]})
