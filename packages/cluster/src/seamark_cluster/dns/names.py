"""Records for the names of the cluster, from Services, EndpointSlices and Pods. No wire format, no I/O.

| name                                     | answer                                                              |
|------------------------------------------|---------------------------------------------------------------------|
| `<service>.<ns>.svc.<domain>`            | A: the cluster address, or each ready endpoint of a headless one     |
| the same, of an ExternalName             | CNAME                                                                |
| `_<port>._<proto>.<service>.<ns>.svc…`   | SRV, for named ports                                                 |
| `<host>.<service>.<ns>.svc…`             | A of that endpoint; host is its hostname, or its address with dashes |
| `10-244-0-7.<ns>.pod.<domain>`           | A, if a Pod of that namespace has the address                        |
| `dns-version.<domain>`                   | TXT "1.1.0", the version of the specification                        |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from seamark_cluster.routing.router import BY_SERVICE
from seamark_cluster.routing.table import HEADLESS
from seamark_runtime.api.core import Pod, Service, ServicePort
from seamark_runtime.api.discovery import Endpoint, EndpointSlice
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Cache, Index

SPECIFICATION = "1.1.0"

PODS_BY_IP: Index[Pod] = Index(
    Pod,
    lambda pod: ((pod.metadata.namespace, pod.status.pod_ip),) if pod.status.pod_ip and not pod.finished else (),
    "by address",
)
SERVICES_BY_NAMESPACE: Index[Service] = Index(Service, lambda item: (item.metadata.namespace,), "by namespace")


@dataclass(frozen=True)
class Record:
    """One record of type A, AAAA, CNAME, SRV or TXT, in zone file syntax."""

    type: str
    text: str


@dataclass(frozen=True)
class Host:
    """An endpoint of a headless Service, with its own name below the Service's."""

    name: str
    address: str
    ports: tuple[tuple[str, str, int], ...]  # name, protocol, number


class Names:
    """All names of one cluster.

    - `find` returns every record of a name, of any type. An empty list is a name without records; None is a name that
      does not exist.
    """

    def __init__(self, domain: str, services: Cache[Service], slices: Cache[EndpointSlice], pods: Cache[Pod]) -> None:
        self.domain = domain.strip(".").lower()
        self._services = services
        self._slices = slices
        self._pods = pods

    def find(self, labels: Sequence[str]) -> list[Record] | None:
        """`labels` are those before the domain, in lower case, in written order."""
        match list(labels):
            case [] | ["svc"] | ["pod"]:
                return []
            case ["dns-version"]:
                return [Record("TXT", f'"{SPECIFICATION}"')]
            case [namespace, "svc" | "pod"]:
                return [] if self._services.by(SERVICES_BY_NAMESPACE, namespace) else None
            case [dashed, namespace, "pod"]:
                return self._pod(dashed, namespace)
            case [*below, service, namespace, "svc"]:
                found = self._services.get(Key(namespace, service))
                return None if found is None else self._service(found, below)
        return None

    def _pod(self, dashed: str, namespace: str) -> list[Record] | None:
        for address in (dashed.replace("-", "."), dashed.replace("-", ":")):
            try:
                ip_address(address)
            except ValueError:
                continue
            if self._pods.by(PODS_BY_IP, (namespace, address)):
                return [record_of(address)]
        return None

    def _service(self, service: Service, below: list[str]) -> list[Record] | None:  # noqa: PLR0911  one row per form
        spec = service.spec
        if spec is None:
            return None
        if spec.type == "ExternalName":
            return [Record("CNAME", spec.external_name.rstrip(".") + ".")] if not below else None
        headless = spec.cluster_ip == HEADLESS
        match below:
            case []:
                if headless:
                    return [record_of(host.address) for host in self._hosts(service)]
                return [record_of(address) for address in spec.cluster_ips or (spec.cluster_ip,) if address]
            case [port, protocol] if port.startswith("_") and protocol.startswith("_"):
                return self._ports(service, port[1:], protocol[1:], headless=headless)
            case [host] if headless:
                return [record_of(item.address) for item in self._hosts(service) if item.name == host] or None
        return None

    def _ports(self, service: Service, port: str, protocol: str, *, headless: bool) -> list[Record] | None:
        name = f"{service.metadata.name}.{service.metadata.namespace}.svc.{self.domain}."
        known = service.spec.ports if service.spec is not None else None
        named = [item for item in known or () if _is(item, port, protocol)]
        if not named:
            return None
        if not headless:
            return [Record("SRV", f"0 100 {entry.port} {name}") for entry in named]
        return [
            Record("SRV", f"0 100 {number} {host.name}.{name}")
            for host in self._hosts(service)
            for called, proto, number in host.ports
            if called == port and proto.lower() == protocol
        ]

    def _hosts(self, service: Service) -> list[Host]:
        return hosts(self._slices.by(BY_SERVICE, service.key))


def hosts(slices: Iterable[EndpointSlice]) -> list[Host]:
    """The ready endpoints, each once."""
    found: dict[str, Host] = {}
    for endpoint_slice in slices:
        ports = tuple((port.name or "", port.protocol, port.port) for port in endpoint_slice.ports or () if port.port)
        for endpoint in endpoint_slice.endpoints or ():
            if endpoint.ready and endpoint_slice.address_type != "FQDN":
                for address in endpoint.addresses[:1]:
                    found[address] = Host(_host_name(endpoint, address), address, ports)
    return [found[address] for address in sorted(found)]


def _host_name(endpoint: Endpoint, address: str) -> str:
    return (endpoint.hostname or address.replace(".", "-").replace(":", "-")).lower()


def _is(port: ServicePort, name: str, protocol: str) -> bool:
    return port.name == name and port.protocol.lower() == protocol


def record_of(address: str) -> Record:
    return Record("AAAA" if ":" in address else "A", address)
