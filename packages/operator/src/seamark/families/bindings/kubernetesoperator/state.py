"""What the decisions about a KubernetesOperator are made from, all of its conditions, and its requests to the edge."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.bindings.model.certificates import Held
from seamark.families.bindings.model.options import Options
from seamark_edge.api.kubernetesoperator import BINDINGS, KubernetesOperator
from seamark_edge.model import OperatorSpec, Owner
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType
from seamark_runtime.events import Notice

TLS_SECRET = "certificate"  # noqa: S105  # the role of a child
FINALIZER = "bindings.k8s.ngrok.com/registration"
TRUTH = "Unknown until the edge has answered"
UNREACHABLE = "The edge did not answer; the message has the error"

REGISTERED = ConditionType(
    "Registered",
    meaning="The edge knows this installation",
    reasons={
        "Registered": "The edge has confirmed it",
        "RegistrationFailed": "The edge refused; the message is its error",
        "EdgeUnreachable": UNREACHABLE,
        "Pending": TRUTH,
    },
    first_message="Not yet registered",
)
READY = ConditionType(
    "Ready",
    meaning="It is registered, with a valid certificate, and the edge lists its endpoints",
    reasons={
        "Ready": "Registered, with a valid certificate, and the edge lists its endpoints",
        "EdgeUnreachable": UNREACHABLE,
        "CertificateFailed": "There is no valid certificate; the message says why",
        "CertificateExpired": "The certificate has expired, and no new one could be obtained",
        "NoEdge": "The edge is in memory: nothing can be reached through it",
        "Draining": "The installation is being removed",
        "NotConfigured": "The spec has no binding, or the feature bindings is not enabled",
        "Pending": TRUTH,
    },
    summary=True,
    first_message="Not yet registered",
)
DRAINING = ConditionType(
    "Draining",
    meaning="The installation is being removed: what was created here is deleted or released",
    reasons={
        "NotDraining": "It is not being removed",
        "Draining": "It is being removed; the message counts what is left",
        "Pending": "Not verified yet",
    },
    first_message="Not verified yet",
)
CERTIFIED = ConditionType("Certified", meaning="A part of Ready", reasons=READY.reasons)
LISTED = ConditionType("Listed", meaning="A part of Ready", reasons=READY.reasons)
CONDITIONS = (REGISTERED, READY, DRAINING)


@dataclass(frozen=True)
class Seen:
    operator: KubernetesOperator
    cluster: str  # which cluster this is: the uid of its kube-system namespace
    certificate: Held | None  # None: the Secret has not been read yet
    secret_trouble: str  # why the Secret can't be read
    attempt: int
    results: Results
    options: Options
    left: int = 0  # while it is being deleted: BoundEndpoints that are not removed or released yet
    problems: tuple[str, ...] = ()
    announced: tuple[Notice, ...] = ()  # after the last reconcile
    reachable: bool = True  # clients reach what is at the edge

    @property
    def owner(self) -> Owner:
        meta = self.operator.metadata
        return Owner(self.cluster, meta.namespace, meta.name, meta.uid)

    @property
    def spec(self) -> OperatorSpec | None:
        """The registration for the edge; None if nothing is to be bound."""
        spec = self.operator.spec
        if spec.binding is None or BINDINGS not in spec.enabled_features:
            return None
        running = spec.deployment
        deployment = (running.name, running.namespace, running.version) if running else ("", "", "")
        return OperatorSpec(spec.binding.endpoint_selectors, features=spec.enabled_features, deployment=deployment)

    @property
    def secret_key(self) -> Key:
        binding = self.operator.spec.binding
        return Key(self.operator.metadata.namespace, binding.tls_secret_name if binding else "")


# ---- requests to the edge


@dataclass(frozen=True)
class Register:
    """Registers this installation with these selectors. `attempt` counts how often the edge no longer knew it."""

    owner: Owner
    spec: OperatorSpec
    attempt: int = 0


@dataclass(frozen=True)
class Certify:
    """Has a new key signed, in place of the certificate that has this mark."""

    owner: Owner
    spec: OperatorSpec
    replaces: str
    attempt: int = 0


@dataclass(frozen=True)
class ListBound:
    installation: Key
    operator: str  # its id at the edge


@dataclass(frozen=True)
class Unregister:
    owner: Owner


Action = Register | Certify | ListBound | Unregister


@dataclass(frozen=True)
class Registration:
    id: str
    uri: str
    ingress: str


@dataclass(frozen=True)
class Signed:
    """A certificate and its key. They are shown in no log."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        return "Signed()"


@dataclass(frozen=True)
class Left:
    """The edge did not answer for so long that the registration is left there."""

    error: str
