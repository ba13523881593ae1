"""The host name that a claim gets from the platform.

- Below the platform's domain it is a label of its own: two claims never share one, and it stays while the claim does.
- Without a domain it is the name of the Workload's Service inside the cluster: no client outside finds that.
"""

from __future__ import annotations

import hashlib

from seamark.api.score import ResourceClaim
from seamark.families.score.model.identity import identity
from seamark_runtime.upstreams import CLUSTER_DOMAIN

LONGEST_LABEL, DIGEST = 63, 8


def platform_host(claim: ResourceClaim, domain: str, service: str) -> str:
    """`service` is that of the Workload."""
    return f"{label(claim)}.{domain}" if domain else f"{service}.{claim.metadata.namespace}.{CLUSTER_DOMAIN}"


def label(claim: ResourceClaim) -> str:
    """Readable, and unique in the cluster by a digest of the namespace and of the identity or the claim's name."""
    spec = claim.spec
    whose = identity(spec.type, spec.class_, spec.id) or claim.metadata.name
    digest = hashlib.sha256(f"{claim.metadata.namespace}/{whose}".encode()).hexdigest()[:DIGEST]
    readable = (spec.id or spec.workload_ref.name).replace(".", "-")[: LONGEST_LABEL - DIGEST - 1].rstrip("-")
    return f"{readable}-{digest}"
