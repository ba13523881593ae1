"""The target Service of a group. Pure."""

from __future__ import annotations

from seamark.families.bindings.model.entries import PortName
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.ownership import owner_labels
from seamark.families.bindings.model.services import upstream_host
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.core import Service, ServicePort, ServiceSpec
from seamark_runtime.api.meta import Key, ManagedMeta


def target_service(key: Key, oldest: BoundEndpoint, ports: tuple[PortName, ...], options: Options) -> Service:
    """ExternalName in the users' namespace, that names the upstream Service of the group's oldest member."""
    wanted = oldest.spec.target.metadata
    return Service(
        metadata=ManagedMeta(
            name=key.name,
            namespace=key.namespace,
            labels={**((wanted.labels if wanted else None) or {}), **owner_labels(oldest.key)},
            annotations=(wanted.annotations if wanted else None) or None,
        ),
        spec=ServiceSpec(
            type="ExternalName",
            external_name=upstream_host(oldest, options),
            session_affinity="ClientIP",
            ports=tuple(ServicePort(name=str(name), port=name.port, target_port=name.port) for name in ports),
        ),
    )
