"""One sample per kind: a good object, changes to it that are allowed, and mistakes that are not."""

from __future__ import annotations

from tests.fidelity.samples.base import Json, Sample, meta_mistakes
from tests.fidelity.samples.core import CONFIG_MAP, EVENT, LEASE, NODE, QUOTA, SECRET, SERVICE_ACCOUNT
from tests.fidelity.samples.custom import GADGET, WIDGET, definitions
from tests.fidelity.samples.network import CLUSTER_ROLE, ENDPOINT_SLICE, INGRESS, ROLE, ROLE_BINDING, SERVICE
from tests.fidelity.samples.workloads import DEPLOYMENT, POD, REPLICA_SET, STATEFUL_SET

SAMPLES = [
    CONFIG_MAP,
    SECRET,
    SERVICE,
    POD,
    DEPLOYMENT,
    STATEFUL_SET,
    REPLICA_SET,
    LEASE,
    EVENT,
    SERVICE_ACCOUNT,
    ENDPOINT_SLICE,
    INGRESS,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    NODE,
    QUOTA,
    WIDGET,
    GADGET,
]

__all__ = [
    "CLUSTER_ROLE",
    "CONFIG_MAP",
    "DEPLOYMENT",
    "ENDPOINT_SLICE",
    "EVENT",
    "GADGET",
    "INGRESS",
    "LEASE",
    "NODE",
    "POD",
    "QUOTA",
    "REPLICA_SET",
    "ROLE",
    "ROLE_BINDING",
    "SAMPLES",
    "SECRET",
    "SERVICE",
    "SERVICE_ACCOUNT",
    "STATEFUL_SET",
    "WIDGET",
    "Json",
    "Sample",
    "definitions",
    "meta_mistakes",
]
