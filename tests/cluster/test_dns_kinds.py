"""DNSEndpoint on a real API server: its schema, its columns, and what an object costs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from seamark.api.dns import DNSEndpoint
from seamark.cluster.real.plane import ControlPlane
from seamark.core.clock import SystemClock
from seamark.core.http import HttpTransport
from seamark.core.operator import Operator, World
from seamark.core.settings import Settings
from seamark.core.waker import Declaration
from seamark.families.dns.controller import Timing, controllers
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.dns.rules import Rules
from seamark.providers.dns.memory import MemoryProvider
from tests.cluster.operator_under_test import connection, until, writes
from tests.cluster.requests import install, request

ZONE = "example.test"
WWW = {"dnsName": f"www.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"]}


def manifest(name: str, **endpoint: Any) -> dict[str, Any]:
    return {
        "apiVersion": DNSEndpoint.RESOURCE.api_version,
        "kind": "DNSEndpoint",
        "metadata": {"name": name},
        "spec": {"endpoints": [{**WWW, **endpoint}]},
    }


@asynccontextmanager
async def running(plane: ControlPlane, declared: Iterable[Declaration]) -> AsyncIterator[Operator]:
    transport = await HttpTransport(connection(plane, "operator")).open()
    settings = Settings(leader_election=False, health_address="", stop_grace=1.0)
    operator = Operator(World(transport, SystemClock(), Random(1), "operator-dns"), declared, settings)
    task = asyncio.get_running_loop().create_task(operator.run())
    try:
        yield operator
        assert not task.done(), "the operator ended by itself"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await transport.close()


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ({"recordTTL": -1}, "spec.endpoints[0].recordTTL"),
        ({"recordType": "CNAME", "targets": ["a.test", "b.test"]}, "a CNAME has one target"),
    ],
)
def test_the_server_itself_refuses_what_its_schema_can_tell(
    control_plane: ControlPlane, namespace: str, endpoint: dict[str, Any], words: str
) -> None:
    """Rule 4."""
    install(control_plane, DNS_ENDPOINT)
    answer = request(control_plane, "POST", DNSEndpoint.RESOURCE.path(namespace), manifest("bad", **endpoint))
    assert answer.code == 422
    assert words in answer.body["message"]


def test_an_object_costs_one_mark_and_one_status_and_goes_with_its_records(
    control_plane: ControlPlane, namespace: str
) -> None:
    """Rules 25 and 27, with the columns that people see."""
    install(control_plane, DNS_ENDPOINT)
    provider = MemoryProvider((ZONE,))
    path = DNSEndpoint.RESOURCE.path(namespace, "www")

    def ready() -> bool:
        found = request(control_plane, "GET", path).body.get("status", {}).get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in found)

    async def story() -> None:
        declared = controllers(provider, Rules(zones=(ZONE,), owner="me"), Timing(spacing=0.05, poll=1.0))
        async with running(control_plane, declared) as operator:
            mark = control_plane.audit.mark()
            made = await asyncio.to_thread(
                request, control_plane, "POST", DNSEndpoint.RESOURCE.path(namespace), manifest("www")
            )
            assert {one["status"] for one in made.body["status"]["conditions"]} == {"Unknown"}
            await until(lambda: asyncio.to_thread(ready), "it is ready")
            await until(lambda: operator.quiet, "nothing is left to do")
            entries = [entry for entry in control_plane.audit.entries(mark) if entry.user == "operator"]
            assert writes(entries, namespace) == ["patch/dnsendpoints/www", "patch/dnsendpoints/status/www"]
            shown = await asyncio.to_thread(control_plane.kubectl, "get", "dnsendpoints", "-n", namespace)
            head, row = str(shown).splitlines()[:2]
            assert head.split() == ["NAME", "ENDPOINTS", "ACCEPTED", "READY", "AGE"]
            assert row.split()[:4] == ["www", f"www.{ZONE}", "True", "True"]
            assert len(provider.content(ZONE).names) == 2
            await asyncio.to_thread(request, control_plane, "DELETE", path)
            await until(lambda: not provider.content(ZONE).names, "its records are gone")
            await until(
                lambda: asyncio.to_thread(lambda: request(control_plane, "GET", path).code == 404), "it is gone"
            )

    asyncio.run(story())
