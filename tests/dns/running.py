"""The operator with the DNS family, on a store in this process and whatever name server it is given."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.family import DNS_ENDPOINT, declared, dependencies_of
from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.oneshot.once import until_reported
from seamark.providers.dns.model import Provider
from seamark_cluster.embedded import Pace, Store
from seamark_cluster.embedded import Settings as StoreSettings
from seamark_runtime.clock import SystemClock
from seamark_runtime.operator import Operator
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.cluster.embedded_scene import living
from tests.status_rules import check

TIMING = Intervals(spacing=0.05, poll=0.2, shelf_life=3.0)
SETTINGS = Settings(leader_election=False, workers=16, stop_grace=1, health_address="")
ALL_TYPES = frozenset(("A", "AAAA", "CNAME", "TXT", "SRV", "NS", "PTR", "MX", "NAPTR", "DNAME"))
RESOURCE = "dnsendpoints.externaldns.k8s.io"
NAMESPACE = "default"
SCHEMA = DNS_ENDPOINT.manifest()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
FIRST_STATEMENT = SCHEMA["properties"]["status"]["default"]


@dataclass
class Cluster:
    """Objects of the API, and every status that was written to them."""

    store: Store
    history: dict[str, list[Any]] = field(default_factory=dict)
    status_writes: int = 0
    dependencies: Dependencies | None = None  # of the operator that runs, or ran last

    def apply(self, name: str, *endpoints: dict[str, Any], **metadata: Any) -> None:
        body = {
            "apiVersion": DNSEndpoint.RESOURCE.api_version,
            "kind": "DNSEndpoint",
            "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
            "spec": {"endpoints": list(endpoints)},
        }
        if self.get(name) is None:
            self.store.create(body)
        else:
            path = f"/apis/externaldns.k8s.io/v1alpha1/namespaces/{NAMESPACE}/dnsendpoints/{name}"
            patch = json.dumps({"spec": body["spec"]}).encode()
            answer = self.store.handle(
                HttpRequest("PATCH", received_path(path), body=patch, content_type="application/merge-patch+json")
            )
            assert isinstance(answer, Answer)
            assert answer.status == 200, answer.body

    def delete(self, name: str) -> None:
        self.store.delete(RESOURCE, NAMESPACE, name)

    def get(self, name: str) -> Any:
        return self.store.get(RESOURCE, NAMESPACE, name)

    def condition(self, name: str, type_: str) -> dict[str, Any]:
        found = (self.get(name) or {}).get("status", {}).get("conditions", [])
        return next((dict(one) for one in found if one["type"] == type_), {})

    def ready(self, name: str) -> bool:
        condition = self.condition(name, "Ready")
        return (
            condition.get("status") == "True"
            and condition.get("observedGeneration") == self.get(name)["metadata"]["generation"]
        )

    def says(self, name: str, type_: str = "Ready") -> tuple[str, str, str]:
        condition = self.condition(name, type_)
        return condition.get("status", ""), condition.get("reason", ""), condition.get("message", "")

    def changed(self, event: Any) -> None:
        if event.new is not None:
            # The store keeps what was written; a reader also gets the CRD's default condition.
            shown = event.new if "status" in event.new else {**event.new, "status": FIRST_STATEMENT}
            self.history.setdefault(event.new["metadata"]["name"], []).append(shown)
            if event.old is not None and event.old.get("status") != event.new.get("status"):
                self.status_writes += 1

    def check(self) -> None:
        """The rules of trustworthy status, on every status that was written."""
        for name, states in self.history.items():
            assert [str(one) for one in check(states, ours=("Accepted", "Ready"))] == [], name


def cluster() -> Cluster:
    store = Store(clock=SystemClock(), chance=Random(1), settings=StoreSettings(pace=Pace(bookmark=60, lifetime=600)))
    store.create(DNS_ENDPOINT.manifest())
    made = Cluster(store)
    store.revisions.subscribe(RESOURCE, made.changed)
    return made


@asynccontextmanager
async def operating(
    on: Cluster, provider: Provider, rules: Rules, timing: Intervals = TIMING
) -> AsyncIterator[Operator]:
    on.dependencies = dependencies_of(Options(rules, timing), provider)
    async with living(on.store, declared(on.dependencies), SETTINGS) as operator:
        yield operator
    on.check()


async def synced(on: Cluster, operator: Operator, seconds: float) -> list[str]:
    """As `seamark dns sync`: what is not served after one sync."""
    assert on.dependencies is not None
    return await until_reported(operator, on.dependencies, seconds)


async def until(condition: Callable[[], object], what: str | Callable[[], object], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what() if callable(what) else what}"
        await asyncio.sleep(0.02)


def endpoint(name: str, type_: str, *targets: str, **more: Any) -> dict[str, Any]:
    return {"dnsName": name, "recordType": type_, "targets": list(targets), **more}
