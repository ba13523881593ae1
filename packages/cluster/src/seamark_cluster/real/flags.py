"""The command lines of the three components."""

from __future__ import annotations

import dataclasses
import ipaddress
from pathlib import Path

from seamark_cluster.real.pki import Pki
from seamark_cluster.real.users import User
from seamark_runtime.errors import UserError

# Nodes, volumes, load balancers and Pod metrics do not exist here; their controllers would only log about it, and the
# node controllers would evict Pods from the Nodes of tests.
NO_CONTROLLERS_FOR = (
    "cloud-node-lifecycle-controller",
    "device-taint-eviction-controller",
    "ephemeral-volume-controller",
    "horizontal-pod-autoscaler-controller",
    "node-ipam-controller",
    "node-lifecycle-controller",
    "node-route-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-expander-controller",
    "resourceclaim-controller",
    "service-lb-controller",
    "taint-eviction-controller",
    "ttl-controller",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How a control plane is set up. The defaults are for tests on loopback."""

    users: tuple[User, ...] = ()
    controllers: bool = True
    bind_address: str = "127.0.0.1"
    advertise_address: str = ""
    """The address for Pods and other machines, if it is not the bind address."""
    hosts: tuple[str, ...] = ()
    """Additional names and addresses in the API server's certificate."""
    service_cidr: str = "10.96.0.0/16"
    api_server_flags: tuple[str, ...] = ()
    controller_manager_flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for address in (self.bind_address, self.advertise_address or self.bind_address):
            try:
                ipaddress.ip_address(address)
            except ValueError:
                raise UserError(f"{address!r} is not an IP address", hint="write an address, not a name") from None

    @property
    def advertised(self) -> str:
        if self.advertise_address:
            return self.advertise_address
        return "127.0.0.1" if ipaddress.ip_address(self.bind_address).is_unspecified else self.bind_address

    @property
    def connect(self) -> str:
        """The API server's URL for a client on this machine."""
        return self.advertised if ipaddress.ip_address(self.bind_address).is_unspecified else self.bind_address


@dataclasses.dataclass(frozen=True)
class Layout:
    """The paths in a control plane's directory, and its ports."""

    directory: Path
    etcd_port: int
    etcd_peer_port: int
    api_port: int
    controllers_port: int

    @property
    def tokens(self) -> Path:
        return self.directory / "tokens.csv"

    @property
    def audit_policy(self) -> Path:
        return self.directory / "audit-policy.yaml"

    @property
    def audit_log(self) -> Path:
        return self.directory / "audit.log"

    @property
    def controllers_kubeconfig(self) -> Path:
        return self.directory / "kube-controller-manager.kubeconfig"


def host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def etcd(binary: Path, layout: Layout) -> list[str]:
    client, peer = (f"http://127.0.0.1:{port}" for port in (layout.etcd_port, layout.etcd_peer_port))
    return [
        str(binary),
        "--name=seamark",
        f"--data-dir={layout.directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=seamark={peer}",
        "--unsafe-no-fsync",  # survives the end of the process, not of the machine: enough here, and far faster
        "--heartbeat-interval=50",  # a single member elects itself, after one election timeout
        "--election-timeout=500",
        "--log-level=warn",
    ]


def kube_apiserver(binary: Path, layout: Layout, options: Options, pki: Pki) -> list[str]:
    advertised = options.advertised
    first_service = str(next(ipaddress.ip_network(options.service_cidr).hosts()))
    names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
    hosts = dict.fromkeys(("127.0.0.1", options.connect, advertised, first_service, *names, *options.hosts))
    certificate, key = pki.server("apiserver", tuple(hosts))
    signing, public = pki.signing_key("service-account")
    # A loopback address is not valid in an EndpointSlice, so `kubernetes.default` gets none in that case.
    reconciler = "none" if ipaddress.ip_address(advertised).is_loopback else "lease"
    return [
        str(binary),
        f"--etcd-servers=http://127.0.0.1:{layout.etcd_port}",
        f"--bind-address={options.bind_address}",
        f"--advertise-address={advertised}",
        f"--secure-port={layout.api_port}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--client-ca-file={pki.ca_cert}",
        f"--service-account-issuer=https://{names[-1]}",
        f"--service-account-key-file={public}",
        f"--service-account-signing-key-file={signing}",
        f"--service-cluster-ip-range={options.service_cidr}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        f"--endpoint-reconciler-type={reconciler}",
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-mode=blocking",
        "--audit-log-maxsize=0",  # a single file: a rotated log would lose requests from the count
        "--allow-privileged=true",
        "--profiling=false",
        *options.api_server_flags,
    ]


def kube_controller_manager(binary: Path, layout: Layout, options: Options, pki: Pki) -> list[str]:
    signing, _ = pki.signing_key("service-account")
    certificate, key = pki.server("controllers", ("127.0.0.1", "localhost"))
    return [
        str(binary),
        f"--kubeconfig={layout.controllers_kubeconfig}",
        f"--authentication-kubeconfig={layout.controllers_kubeconfig}",
        f"--authorization-kubeconfig={layout.controllers_kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.controllers_port}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        "--authentication-skip-lookup",
        "--leader-elect=false",
        f"--controllers={','.join(['*', *(f'-{name}' for name in NO_CONTROLLERS_FOR)])}",
        f"--service-account-private-key-file={signing}",
        f"--root-ca-file={pki.ca_cert}",
        f"--cluster-signing-cert-file={pki.ca_cert}",
        f"--cluster-signing-key-file={pki.ca_key}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--concurrent-gc-syncs=20",
        "--concurrent-namespace-syncs=20",
        "--namespace-sync-period=30s",
        "--profiling=false",
        *options.controller_manager_flags,
    ]
