"""What of metadata a tenant can forge: annotations and labels that Seamark reads or writes, finalizers, owners, and
forged managers of fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.hostile.corpus import Entry
from tests.hostile.known_names import CANARY
from tests.hostile.schema import Field

NGROK, EXTERNAL_DNS = "k8s.ngrok.com/", "external-dns.alpha.kubernetes.io/"
SERVICE = tuple(
    NGROK + name
    for name in (
        "url",
        "domain",
        "mapping-strategy",
        "pooling-enabled",
        "bindings",
        "traffic-policy",
        "metadata",
        "description",
        "computed-url",
        "computed-urls",
    )
)
NAMED = tuple(
    EXTERNAL_DNS + name
    for name in (
        "hostname",
        "internal-hostname",
        "target",
        "ttl",
        "controller",
        "set-identifier",
        "alias",
        "access",
        "record-type",
        "aws-weight",
        "cloudflare-tags",
    )
)
SCORE = tuple(
    f"score.dev/{name}" for name in ("profile", "requires", "region", "deprovision-policy", "workload-generation")
)
ANNOTATIONS: dict[str, tuple[str, ...]] = {
    "Service": (*SERVICE, *NAMED),
    "Ingress": NAMED,
    "Gateway": NAMED,
    "HTTPRoute": NAMED,
    "GRPCRoute": NAMED[:4],
    "TLSRoute": NAMED[:4],
    "TCPRoute": NAMED[:4],
    "Workload": SCORE,
    "WorkloadPlan": (*SCORE, "score.dev/files"),
    "ResourceClaim": ("score.dev/deprovision-policy",),
    "Greeting": ("sample.seamark.dev/posted-on",),
    "DNSEndpoint": ("externaldns.k8s.io/zones",),
    "AgentEndpoint": (f"{NGROK}made-from", f"{NGROK}traffic-policy"),
    "CloudEndpoint": (f"{NGROK}made-from", f"{NGROK}traffic-policy"),
    "Domain": (f"{NGROK}made-from",),
    "BoundEndpoint": ("ngrok.com/endpoint-url", "bindings.seamark.dev/projected-by"),
}
LABELS: dict[str, tuple[str, ...]] = {
    "Service": (
        "ngrok.com/endpoint-binding-name",
        "ngrok.com/endpoint-binding-namespace",
        "bindings.seamark.dev/role",
        "gateway.networking.k8s.io/gateway-name",
    ),
    "AgentEndpoint": ("ngrok.com/controller-name", "ngrok.com/controller-namespace", "app.kubernetes.io/managed-by"),
    "Domain": ("ngrok.com/controller-name", "app.kubernetes.io/managed-by"),
    "HTTPRoute": ("score.dev/workload", "score.dev/workload-namespace", "score.dev/owner-uid"),
    "WorkloadPlan": ("score.dev/workload", "score.dev/owner-uid"),
    "ResourceClaim": ("score.dev/owner-uid", "app.kubernetes.io/part-of"),
    "ConfigMap": ("app.kubernetes.io/managed-by", "score.dev/workload"),
    "EndpointSlice": ("kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"),
    "Gateway": ("gateway.seamark.dev/owner", "gateway.seamark.dev/owner-namespace"),
}
FINALIZERS = (
    "k8s.ngrok.com/finalizer",
    "sample.seamark.dev/board",
    "externaldns.k8s.io/records",
    "bindings.k8s.ngrok.com/services",
    "bindings.k8s.ngrok.com/registration",
)
NOBODY = "00000000-0000-0000-0000-00000000dead"
WRITTEN, OWNERS, KEPT = ("metadata", "managedFields"), ("metadata", "ownerReferences"), ("metadata", "finalizers")


def metadata_fields(kinds: Iterable[str]) -> list[Field]:
    found = []
    for kind in kinds:
        found += [Field(kind, ("metadata", "annotations", key), "string") for key in ANNOTATIONS.get(kind, ())]
        found += [Field(kind, ("metadata", "labels", key), "string") for key in LABELS.get(kind, ())]
        found += [Field(kind, path, "forged") for path in (WRITTEN, OWNERS, KEPT)]
    return found


def forged(field: Field, api_version: str) -> list[Entry]:
    """Values for a part of metadata that no schema of the kind describes."""
    values: dict[tuple[str, ...], dict[str, list[Any]]] = {
        WRITTEN: {
            "another": [written("another-controller", api_version)],
            "ours": [written(name, api_version) for name in ("seamark", "seamark-agent", "seamark-status")],
            "nonsense": [{"manager": "a\x00b", "operation": "Apply", "time": "9999-12-31T23:59:59Z"}],
            "many": [written(f"controller-{number}", api_version) for number in range(200)],
        },
        OWNERS: {
            "nobody": [owner("Gateway", "front", NOBODY)],
            "foreign": [owner("Namespace", CANARY, NOBODY, "v1")],
            "many": [owner("Workload", f"w{number}", NOBODY, "score.dev/v1b1") for number in range(100)],
        },
        KEPT: {"ours": list(FINALIZERS), "former": ["example.com/" + "x" * 50], "bare": ["a"]},
    }
    return [Entry("forged", name, value) for name, value in values[field.path].items()]


def written(manager: str, api_version: str, time: str = "2030-01-01T00:00:00Z") -> dict[str, Any]:
    """A forged manager of the status, and its time."""
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {}}},
        "subresource": "status",
    }


def owner(kind: str, name: str, uid: str, api: str = "gateway.networking.k8s.io/v1") -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": False}
