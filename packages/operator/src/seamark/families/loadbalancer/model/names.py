"""Names that the family reads and writes: annotations, labels, finalizers, and the names of objects."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from seamark_edge.model import Owner
from seamark_runtime.api.meta import Object

PREFIXES = ("k8s.ngrok.com/", "ngrok.com/")  # both are read; the first wins, and is written
FINALIZER = "k8s.ngrok.com/finalizer"
COMPUTED_URL = "k8s.ngrok.com/computed-url"
COMPUTED_URLS = "k8s.ngrok.com/computed-urls"  # those of the ports after the first, as 81=tcp://host:1,82=tcp://host:2
MADE_FROM = "k8s.ngrok.com/made-from"  # on what we created: a digest of what was wanted, to detect edits
FROM_POLICY = "k8s.ngrok.com/traffic-policy"  # on an endpoint whose policy was composed: where it comes from
CONTROLLER_NAME = "ngrok.com/controller-name"
CONTROLLER_NAMESPACE = "ngrok.com/controller-namespace"
OURS = "seamark"  # the value of CONTROLLER_NAME on what we created


def annotation(obj: Object, name: str) -> str:
    """The value under either prefix."""
    found = (obj.annotation(prefix + name) for prefix in PREFIXES)
    return next((text for text in found if text), "")


def owner_of(obj: Object, cluster: str, cluster_uid: str = "") -> Owner:
    return Owner(cluster, obj.metadata.namespace, obj.metadata.name, obj.uid, cluster_uid=cluster_uid)


def digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


def child_name(owner: Object, role: str) -> str:
    """The same for the same owner and role, and never that of a deleted owner of the same name."""
    return f"{owner.metadata.name[:240]}-{digest(owner.uid, role)}"


def domain_name(host: str) -> str:
    """The object's name for a host. Two hosts that would have the same name (a.b and a-b) get different ones."""
    plain = host.lower().replace("*", "wildcard").replace(".", "-").replace("_", "-")
    ambiguous = "-" in host or "_" in host or "wildcard" in host.split(".")
    return f"{plain[:240]}-{digest(host)}" if ambiguous else plain
