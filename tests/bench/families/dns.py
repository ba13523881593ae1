"""FAMILY=dns: DNSEndpoints with one A record each on a real BIND, one of which the server refuses."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from typing import Any

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec, Endpoint
from seamark.families.dns.family import DNS_ENDPOINT, controllers
from seamark.families.dns.model.entries import FINALIZER, ZONES
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.link import Server
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark_runtime.api.meta import Object, ObjectMeta, document
from seamark_runtime.client import APPLY_PATCH
from seamark_runtime.controller import Declaration
from tests.bench.families.dns_run import bench
from tests.bench.scenario import Made, Sort, Targets, Write
from tests.dns.servers import ADDRESS, DENIED, KEY, ZONE

__all__ = ["SCENARIO", "bench"]

PORT = "SEAMARK_BENCH_DNS_PORT"  # how the operator's process learns where the name server is
POLL, SHELF_LIFE = 5.0, 20.0
NEW_YEAR = "2026-01-01T00:00:00Z"
REFUSED = "object-000000"
MERGE = "application/merge-patch+json"
SAID = [
    {"type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": NEW_YEAR}
    for type_, reason, message in (
        ("Accepted", "Accepted", "All records are accepted"),
        ("Ready", "Programmed", "Successfully synced DNS records"),
    )
]


def dns_name(name: str) -> str:
    return DENIED if name == REFUSED else f"{name}.{ZONE}"


class DnsScenario:
    crds = (DNS_ENDPOINT,)
    watched = DNSEndpoint
    children = ()
    tear_down = (DNSEndpoint.RESOURCE,)
    at_rest = max(POLL, SHELF_LIFE)
    targets = Targets(requests_per_object=3.0, time_vs_floor=1.5, cpu_ms_per_object=4.0)

    def controllers(self) -> tuple[Declaration, ...]:
        provider = Rfc2136Provider(Server(ADDRESS, int(os.environ[PORT]), KEY), (ZONE,))
        rules = Rules(zones=(ZONE,), owner="bench")
        return controllers(Options(rules, Intervals(spacing=0.5, poll=POLL, shelf_life=SHELF_LIFE)), provider)

    def make(self, namespace: str, name: str, sort: Sort) -> Write:
        note = {"bench.seamark.dev/note": name * (1500 // len(name))} if sort is Sort.LARGE else None
        endpoint = DNSEndpoint(
            metadata=ObjectMeta(name=name, namespace=namespace, annotations=note),
            spec=DNSEndpointSpec(
                endpoints=(Endpoint(dns_name=dns_name(name), record_type="A", targets=("192.0.2.1",)),)
            ),
        )
        return Write("POST", DNSEndpoint.RESOURCE.path(namespace), document(endpoint))

    def work(self, made: Made) -> Generator[Write, Made, None]:
        """The least: the mark, and the status."""
        path = DNSEndpoint.RESOURCE.path(made.namespace, made.name)
        marks = {"finalizers": [FINALIZER], "annotations": {ZONES: ZONE}, "uid": made.uid}
        body = {"metadata": {**marks, "resourceVersion": made.resource_version}}
        marked = yield Write("PATCH", f"{path}?fieldManager=seamark", body, MERGE)
        yield Write("PATCH", f"{path}/status?fieldManager=seamark-dns&force=true", status_of(marked), APPLY_PATCH)

    def done(self, obj: DNSEndpoint) -> bool:
        conditions = {one.type: one for one in (obj.status.conditions if obj.status else ())}
        ready = conditions.get("Ready")
        if ready is None or ready.observed_generation != obj.metadata.generation:
            return False
        refused = ready.status == "False" and "REFUSED" in ready.message
        return refused if obj.metadata.name == REFUSED and ready.status != "True" else ready.status == "True"

    def owners(self, child: Object) -> Iterable[str]:
        return ()


def status_of(made: Made) -> dict[str, Any]:
    row = {"dnsName": dns_name(made.name), "recordType": "A", "state": "Programmed", "reason": "Programmed"}
    return {
        "apiVersion": DNSEndpoint.RESOURCE.api_version,
        "kind": "DNSEndpoint",
        "metadata": {"name": made.name, "namespace": made.namespace, "resourceVersion": made.resource_version},
        "status": {
            "observedGeneration": made.generation,
            "conditions": [{**said, "observedGeneration": made.generation} for said in SAID],
            "endpoints": [row],
        },
    }


SCENARIO = DnsScenario()
