"""The client certificate of a Gateway's Envoys: it names that Gateway, and is good for no other.

- The installation's authority signs it (`signing`); it is kept in a Secret beside the Pods, which mount it. The Secret
  is owned by their workload and deleted with it.
- It is checked every hour, and signed again when a third of its life is left, when the authority has changed, or when
  it names another Gateway. Envoy reloads a renewed one without a restart.
"""

from __future__ import annotations

from seamark.families.gateway.infrastructure.state import Certify, Credential, SeenCredential
from seamark_edge.dataplane.envoy.identity import Identity
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, Object, ObjectMeta, OwnerReference
from seamark_runtime.calls import Call, Failed, Results
from seamark_runtime.follow import Unreadable
from seamark_runtime.signing import CA_CRT, CA_KEY, CRT, KEY
from seamark_runtime.source import Absent, Fresh, NotYet
from seamark_runtime.view import View

CHECK = 3600.0  # seconds
NO_AUTHORITY = "Its Envoys have no certificate: the Secret {name} of the operator holds no authority to sign one"


def observe(view: View, identity: Identity, secret: Key, authority: Key, results: Results) -> SeenCredential:
    """`secret` is the Secret of the certificate, `authority` that of the installation's authority."""
    existing, signing = view.single(Secret, secret), view.single(Secret, authority)
    if isinstance(existing, NotYet) or isinstance(signing, NotYet):
        return SeenCredential()
    present = files(existing.value) if isinstance(existing, Fresh) else {}
    if isinstance(existing, Unreadable):
        return SeenCredential(problem=f"The certificate of its Envoys can't be read: {existing.message}")
    data = (signing.value.data or {}) if isinstance(signing, Fresh) else {}
    if isinstance(signing, Absent | Unreadable) or not (data.get(CA_CRT) and data.get(CA_KEY)):
        # the present one stays in use: an authority that can't be read removes nothing
        return SeenCredential(problem="" if present else NO_AUTHORITY.format(name=authority.name))
    action = Certify(identity, {CA_CRT: data[CA_CRT], CA_KEY: data[CA_KEY]}, present)
    call = Call[Credential](f"certificate of the Envoys of gateway {identity.gateway}", action, every=CHECK)
    match results.to(call):
        case Fresh(value=credential):
            return SeenCredential(call, credential.files)
        case Failed(message=error):
            message = f"The certificate of its Envoys can't be signed: {error}"
            return SeenCredential(call, problem="" if present else message)
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
