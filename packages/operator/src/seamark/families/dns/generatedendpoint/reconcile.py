"""An object with names → its DNSEndpoint. Pure."""

from __future__ import annotations

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec
from seamark.families.dns.generatedendpoint.state import Seen
from seamark.families.dns.sources.kinds import SourceKind
from seamark_runtime.api.meta import Object, ObjectMeta, OwnerReference
from seamark_runtime.controller import Wanted
from seamark_runtime.ownership import MANAGED_BY


def desire(seen: Seen) -> Wanted:
    if not seen.named:
        return Wanted()
    endpoints = seen.wanted or (seen.standing.spec.endpoints if seen.standing is not None else ())
    if not endpoints:
        return Wanted()
    meta, resource = seen.obj.metadata, seen.source.kind.RESOURCE
    owner = OwnerReference(
        api_version=resource.api_version, kind=resource.kind, name=meta.name, uid=meta.uid, controller=True
    )
    metadata = ObjectMeta(
        name=generated_name(seen.source, seen.obj),
        namespace=meta.namespace,
        labels={name: value for name, value in (meta.labels or {}).items() if name != MANAGED_BY},
        owner_references=(owner,),
    )
    return Wanted(children={"names": DNSEndpoint(metadata=metadata, spec=DNSEndpointSpec(endpoints=endpoints))})


def generated_name(source: SourceKind, obj: Object) -> str:
    return f"{source.name}-{obj.metadata.name}"[:253]
