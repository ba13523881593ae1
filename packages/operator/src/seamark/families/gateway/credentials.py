"""The client certificate of a Gateway's Envoys: it names that Gateway, and is good for no other.

- The installation's authority signs it here; it is kept in a Secret beside the Pods, which mount it. The Secret is
  owned by their workload and deleted with it.
- It is checked every hour, and made anew when a third of its life is left, when the authority has changed, or when it
  names another Gateway. Envoy takes up a renewed one without a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark_edge.dataplane.envoy.identity import Identity
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, Object, ObjectMeta, OwnerReference
from seamark_runtime.calls import Call, Failed, Results
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.errors import Refused
from seamark_runtime.follow import Unreadable
from seamark_runtime.signing import CA_CRT, CA_KEY, CRT, KEY, due, issue
from seamark_runtime.source import Absent, Fresh, NotYet
from seamark_runtime.view import View

CHECK = 3600.0  # seconds
NO_AUTHORITY = "Its Envoys have no certificate: the Secret {name} of the operator holds no authority to sign one"


@dataclass(frozen=True)
class Certify:
    """The action of a call: the certificate of this Gateway's Envoys, the present one if it is good."""

    identity: Identity
    authority: Mapping[str, bytes] = field(repr=False)
    present: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class Credential:
    """A certificate with its key, and the authority that both sides trust."""

    files: Mapping[str, bytes] = field(repr=False)


@dataclass
class Signer:
    """Carries out the calls. What was signed is remembered until it is seen in its Secret: it is signed once."""

    clock: Clock = field(default_factory=SystemClock)
    _signed: dict[Identity, Mapping[str, bytes]] = field(default_factory=dict)

    async def perform(self, action: Certify) -> Credential:
        now, names = self.clock.wall(), (action.identity.uri,)
        if not due(action.present, action.authority[CA_CRT], names, now):
            self._signed.pop(action.identity, None)
            return Credential(action.present)
        signed = self._signed.get(action.identity, {})
        if due(signed, action.authority[CA_CRT], names, now):
            try:
                signed = issue(action.authority, names, now, client_only=True)
            except (ValueError, TypeError, AssertionError):
                raise Refused("the authority's key can't be used") from None
            self._signed[action.identity] = signed
        return Credential(signed)


@dataclass(frozen=True)
class SeenCredential:
    """What is known of a Gateway's certificate, and what came of the call for it."""

    call: Call[Credential] | None = None  # None: not everything that it needs has been read
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # what the Secret should hold
    trouble: str = ""


def observe(view: View, identity: Identity, place: Key, authority: Key, results: Results) -> SeenCredential:
    """`place` is the Secret of the certificate, `authority` that of the installation's authority."""
    standing, signing = view.one(Secret, place), view.one(Secret, authority)
    if isinstance(standing, NotYet) or isinstance(signing, NotYet):
        return SeenCredential()
    present = files(standing.value) if isinstance(standing, Fresh) else {}
    if isinstance(standing, Unreadable):
        return SeenCredential(trouble=f"The certificate of its Envoys can't be read: {standing.message}")
    data = (signing.value.data or {}) if isinstance(signing, Fresh) else {}
    if isinstance(signing, Absent | Unreadable) or not (data.get(CA_CRT) and data.get(CA_KEY)):
        # what is there stays in use: an authority that can't be read takes nothing away
        return SeenCredential(trouble="" if present else NO_AUTHORITY.format(name=authority.name))
    action = Certify(identity, {CA_CRT: data[CA_CRT], CA_KEY: data[CA_KEY]}, present)
    call = Call[Credential](f"certificate of the Envoys of gateway {identity.gateway}", action, every=CHECK)
    match results.to(call):
        case Fresh(value=credential):
            return SeenCredential(call, credential.files)
        case Failed(message=message):
            words = f"The certificate of its Envoys can't be signed: {message}"
            return SeenCredential(call, trouble="" if present else words)
        case _:
            return SeenCredential(call)


def files(secret: Secret) -> dict[str, bytes]:
    data = secret.data or {}
    return {name: data[name] for name in (CRT, KEY, CA_CRT) if name in data}


def child(seen: SeenCredential, metadata: ObjectMeta, workload: Object | None) -> dict[str, Object]:
    """The Secret, once there is a certificate for it and a workload that it can belong to."""
    if not seen.files or workload is None:
        return {}
    resource = workload.RESOURCE
    owner = OwnerReference(
        api_version=resource.api_version, kind=resource.kind, name=workload.metadata.name, uid=workload.uid
    )
    owned = ObjectMeta(
        name=metadata.name, namespace=metadata.namespace, labels=metadata.labels, owner_references=(owner,)
    )
    return {"credential": Secret(metadata=owned, type="kubernetes.io/tls", data=dict(seen.files))}
