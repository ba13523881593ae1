"""The children of a gateway on a cluster: Envoys as Pods and the Service before them, in the operator's namespace.

- The Pods' labels and annotations include those of `spec.infrastructure`; so do the Service's. Labels by which others
  select Pods are left out, and so are annotations of Pods that Kubernetes has a meaning for.
- The Pods of each gateway have a certificate of their own: with it they get that gateway's configuration and no
  other's (`credentials`).
- Of a gateway that is gone, or not ours any more, nothing of this is left.
"""

from __future__ import annotations

import hashlib
import json

import msgspec

from seamark.api.gatewayinfra import (
    Capabilities,
    ContainerSecurity,
    EnvoyConfig,
    EnvoyContainer,
    EnvoyPodMeta,
    EnvoyPodSpec,
    EnvoyPodTemplate,
    EnvoyRollout,
    FrontService,
    FrontServiceSpec,
    PodSecurity,
    SeccompProfile,
    Sysctl,
)
from seamark.families.gateway.infrastructure import credentials
from seamark.families.gateway.infrastructure.state import Seen
from seamark.families.gateway.model.addresses import with_foreign_ports
from seamark.families.gateway.model.names import GATEWAY_NAME, GATEWAY_NAMESPACE, child_name
from seamark_edge.dataplane.envoy.bootstrap import bootstrap, by_tls, tls_files
from seamark_runtime.api.apps import Selector
from seamark_runtime.api.core import (
    ConfigMapFiles,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    FieldRef,
    SecretFiles,
    ServicePort,
    Volume,
    VolumeMount,
)
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Object, ObjectMeta

CONFIGURATION, CERTIFICATES = "/etc/seamark/envoy", "/etc/seamark/xds"
LOW_PORTS = Sysctl(name="net.ipv4.ip_unprivileged_port_start", value="0")
UNPRIVILEGED_USER = 65534
SECCOMP = SeccompProfile(type="RuntimeDefault")
RESERVED = ("kubernetes.io", "k8s.io", "seamark.dev", "ngrok.com", "score.dev")
UNPRIVILEGED = ContainerSecurity(
    allow_privilege_escalation=False, read_only_root_filesystem=True, capabilities=Capabilities(drop=("ALL",))
)


def reserved(label: str) -> bool:
    """Tenants can't put these on an Envoy: by such labels Services of our namespace select their Pods, and by such
    annotations a Pod gets rights (`container.apparmor.security.beta.kubernetes.io`)."""
    return label.partition("/")[0].endswith(RESERVED)


class Envoys:
    """The children of one gateway."""

    def __init__(self, seen: Seen, gateway: Gateway) -> None:
        self._seen = seen
        self._key = seen.key
        self._ports = seen.ports
        self._cluster = seen.cluster
        infrastructure = gateway.spec.infrastructure
        labels = (infrastructure.labels if infrastructure is not None else None) or {}
        self._labels = {name: value for name, value in labels.items() if not reserved(name)}
        self._annotations = (infrastructure.annotations if infrastructure is not None else None) or {}
        self._selector = {GATEWAY_NAME: seen.key.name, GATEWAY_NAMESPACE: seen.key.namespace}

    def _metadata(self) -> ObjectMeta:
        return ObjectMeta(
            name=child_name(self._key),
            namespace=self._cluster.namespace,
            labels={**self._labels, **self._selector},
            annotations=self._annotations or None,
        )

    def _bootstrap(self) -> str:
        host, _, port = self._cluster.xds.rpartition(":")
        return json.dumps(bootstrap(None, by_tls(host, int(port), CONFIGURATION)), indent=1)

    def config(self) -> EnvoyConfig:
        files = {name: json.dumps(content, indent=1) for name, content in tls_files(CERTIFICATES).items()}
        return EnvoyConfig(metadata=self._metadata(), data={"envoy.json": self._bootstrap(), **files})

    def credential(self) -> dict[str, Object]:
        return credentials.child(self._seen.credential, self._metadata(), self._seen.workload)

    def envoys(self) -> Object:
        mark = hashlib.sha256(self._bootstrap().encode()).hexdigest()[:16]  # a changed bootstrap needs new Pods
        allowed = {name: value for name, value in self._annotations.items() if not reserved(name)}
        annotations = {**allowed, "gateway.seamark.dev/bootstrap": mark}
        container = EnvoyContainer(
            name="envoy",
            image=self._cluster.image,
            args=(
                *("-c", f"{CONFIGURATION}/envoy.json", "--log-level", "warning"),
                *("--service-cluster", "seamark", "--service-node", f"{self._key}/$(POD_IP)"),
            ),
            env=(EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=FieldRef(field_path="status.podIP"))),),
            ports=tuple(ContainerPort(name=f"p{port}", container_port=port) for port in sorted(self._ports.all)),
            volume_mounts=(
                VolumeMount(name="config", mount_path=CONFIGURATION, read_only=True),
                VolumeMount(name="xds", mount_path=CERTIFICATES, read_only=True),
            ),
            security_context=UNPRIVILEGED,
        )
        spec = EnvoyPodSpec(
            containers=(container,),
            volumes=(
                Volume(name="config", config_map=ConfigMapFiles(name=child_name(self._key))),
                Volume(name="xds", secret=SecretFiles(secret_name=child_name(self._key))),
            ),
            security_context=PodSecurity(
                sysctls=(LOW_PORTS,), run_as_non_root=True, run_as_user=UNPRIVILEGED_USER, seccomp_profile=SECCOMP
            ),
            automount_service_account_token=False,
        )
        template = EnvoyPodTemplate(
            metadata=EnvoyPodMeta(labels={**self._labels, **self._selector}, annotations=annotations), spec=spec
        )
        rollout = EnvoyRollout(selector=Selector(match_labels=self._selector), template=template)
        return self._cluster.workload_kind(metadata=self._metadata(), spec=rollout)

    def _service_metadata(self) -> ObjectMeta:
        found = self._metadata()
        return msgspec.structs.replace(found, annotations=with_foreign_ports(found.annotations, self._ports))

    def service(self) -> FrontService:
        return FrontService(
            metadata=self._service_metadata(),
            spec=FrontServiceSpec(
                type=self._cluster.service_type,
                selector=self._selector,
                ports=tuple(ServicePort(name=f"p{port}", port=port, target_port=port) for port in self._ports.all),
                load_balancer_class=self._cluster.load_balancer_class or None,
            ),
        )
