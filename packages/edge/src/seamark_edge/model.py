"""What an edge holds for us, as values: owner, kind, address."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json

OWNED_BY = "seamark"
OWNER_HEADER = "Seamark-Owner"  # of an API request: whose share of the key's budget it uses
STORE_AWAY = 8503  # the number of the error "the database of the edge is away": nothing was done
UNFINISHED = 504  # the number of the error "not answered in time": what was asked for may have been done
POLICY_ERRORS = frozenset(f"ERR_NGROK_{number}" for number in range(2200, 2268))
METADATA = Limits(size=64 * 1024, depth=32)


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """The Kubernetes object that a remote object exists for.

    - `key` is the same for the same object, in every process and after every restart; `purpose` tells several remote
      objects of one owner apart.
    - It travels in the remote object's metadata, so that what a lost reply left is found and adopted.
    - `cluster_uid` and `reclaim` travel with it and are no part of the identity: an earlier version did not write them.
    """

    cluster: str
    namespace: str
    name: str
    uid: str
    purpose: str = ""
    cluster_uid: str = field(default="", compare=False)  # of the namespace kube-system; clusters can share a name
    reclaim: str = field(default="", compare=False)  # of a domain: Delete or Retain, when its object is gone

    @property
    def key(self) -> str:
        return "/".join((self.cluster, self.namespace, self.name, self.uid, self.purpose))

    @property
    def share(self) -> str:
        """Whose share of the operator's key and the agents' token pays for it: its namespace's."""
        return _share(self.cluster, self.namespace)

    @property
    def mark(self) -> str:
        """A short name for it, where a name is needed."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:16]

    @property
    def metadata(self) -> str:
        fields = [self.cluster, self.namespace, self.name, self.uid, self.purpose]
        more = {"cluster-uid": self.cluster_uid, "reclaim": self.reclaim}
        written = {name: value for name, value in more.items() if value}
        return msgspec.json.encode({"owned-by": OWNED_BY, "owner": fields, **written}).decode()

    @classmethod
    def of(cls, metadata: str) -> Owner | None:
        """The owner that this metadata names; None if the object is not ours."""
        try:
            found = decode_json(metadata, _Metadata, METADATA)
        except Malformed:
            return None
        if found.owned_by != OWNED_BY:
            return None
        return cls(*found.owner, cluster_uid=found.cluster_uid, reclaim=found.reclaim)


def share_of(key: str) -> str:
    """The share of the owner with this key; "" for any other text."""
    parts = key.split("/", 5)
    return _share(*parts[:2]) if len(parts) == 5 else ""


def _share(cluster: str, namespace: str) -> str:
    return f"{cluster}/{namespace}"


class _Metadata(msgspec.Struct, frozen=True):
    owned_by: str = msgspec.field(name="owned-by")
    owner: tuple[str, str, str, str, str]
    cluster_uid: str = msgspec.field(name="cluster-uid", default="")
    reclaim: str = ""


# A namespace and a policy's JSON → why the edge refuses it; "" where nothing is known against it
PolicyRefusal = Callable[[str, str], str]


class CheckPostponed(Exception):
    """A policy was not checked, since those of its namespace have taken too much time. It will be, after so long."""

    def __init__(self, message: str, after: float) -> None:
        super().__init__(message)
        self.message = message
        self.after = after


UNUSABLE = "ERR_SEAMARK_UNUSABLE"  # of what an agent can't hold: a Secret that it names is missing


def is_policy_error(code: str) -> bool:
    """Whether this error code of an edge is about the traffic policy: ERR_NGROK_2200 to ERR_NGROK_2267."""
    return code in POLICY_ERRORS


def nothing_known(_namespace: str, _policy: str) -> str:
    """For an edge whose own checks are not known here."""
    return ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What can be asked of an edge."""

    name: str
    requests_per_minute: int
    bindings: bool  # has operators with certificates, and bound endpoints
    own_agent: bool  # our agent may connect; else the vendor's SDK holds the tunnels
    custom_ca: bool  # certificates are signed by the edge's own CA
    reachable: bool = True  # clients reach what it keeps; False: an edge in memory
    upstream_checks: bool = False  # agents dial upstreams on demand, and report the result
    policy_refusal: PolicyRefusal = nothing_known  # reads what is known of a policy, and changes nothing
    policy_check: PolicyRefusal = nothing_known  # the same, after the policy was checked if that takes time


@dataclass(frozen=True, slots=True)
class Address:
    """A reserved TCP address, as host:port."""

    id: str
    addr: str
    owner: Owner | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """How the edge gets certificates for a domain. Without an authority they are the edge's own affair."""

    id: str = ""
    authority: str = ""
    key_type: str = ""
    renews_at: str = ""
    error_code: str = ""
    error: str = ""
    started_at: str = ""
    retries_at: str = ""


@dataclass(frozen=True, slots=True)
class DomainSpec:
    """What is wanted of a domain beside its name. `metadata` is a text of JSON.

    `reclaim`: what becomes of it when its object is gone, Delete or Retain; it is kept in the mark of its owner.
    """

    resolves_to: tuple[str, ...] = ()
    description: str = ""
    metadata: str = ""
    reclaim: str = ""


@dataclass(frozen=True, slots=True)
class Domain:
    """A reserved domain. `cname_target` is where a custom domain's record is to point.

    Without an owner it was reserved by hand: it can be used, and stays when its user goes.
    """

    id: str
    domain: str
    cname_target: str
    owner: Owner | None
    resolves_to: tuple[str, ...] = ()
    acme_challenge: str = ""
    certificate: Certificate = field(default_factory=Certificate)


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """An endpoint that the edge itself keeps."""

    url: str
    policy: str = ""
    bindings: tuple[str, ...] = ()
    pooling: bool = False
    description: str = ""
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint that is online. `session` names the agent that holds it; "" for one that the edge keeps."""

    id: str
    url: str
    type: str
    owner: Owner | None
    policy: str = ""
    bindings: tuple[str, ...] = ()
    pooling: bool = False
    description: str = ""
    session: str = ""
    upstream: str = ""
    name: str = ""  # an agent's: the key of the owner that it is held for
    generation: int = 0  # an agent's: which generation of the owner this is


@dataclass(frozen=True, slots=True)
class Upstream:
    """The result of dialling the upstream of an endpoint, by the agents behind it. None: no agent reports it."""

    reachable: bool | None
    detail: str = ""
    agents: int = 0


@dataclass(frozen=True, slots=True)
class RefusedEndpoint:
    """An endpoint that an agent does not hold for one generation of its owner, with the error of the edge that refused
    it, or, with the code `UNUSABLE`, of the agent."""

    name: str
    url: str
    generation: int
    message: str
    code: str = ""  # as ERR_NGROK_2201; UNUSABLE of an agent


@dataclass(frozen=True, slots=True)
class AgentSession:
    """An agent that is connected."""

    id: str
    metadata: str = ""
    refused: tuple[RefusedEndpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """A cluster's registration. A new CSR is answered with a new certificate, and the old one is worth nothing."""

    selectors: tuple[str, ...]
    csr: str = ""
    features: tuple[str, ...] = ("bindings",)
    deployment: tuple[str, str, str] = ("", "", "")  # name, namespace, version


@dataclass(frozen=True, slots=True)
class Operator:
    id: str
    owner: Owner | None
    selectors: tuple[str, ...] = ()
    certificate: str = ""
    not_after: str = ""
    ingress_endpoint: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """A remote endpoint, bound into this cluster."""

    id: str
    url: str
    proto: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything at the edge that is ours, at one moment."""

    addresses: tuple[Address, ...] = ()
    domains: tuple[Domain, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    agents: tuple[Endpoint, ...] = field(default=())  # endpoints that agents hold, of any owner
    sessions: tuple[AgentSession, ...] = ()  # agents that are connected, where they are our own


Fields = dict[str, Any]
