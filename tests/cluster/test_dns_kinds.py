"""DNSEndpoint on a real API server: its schema, its columns, and what an object costs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.family import DNS_ENDPOINT, controllers
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.clock import SystemClock
from seamark_runtime.controller import Declaration
from seamark_runtime.http import HttpTransport
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.answering import AnsweringMemory
from tests.cluster.operator_under_test import connection, rightful, until, writes
from tests.cluster.requests import install, request
from tests.cluster.rights import OPERATOR, needed

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
    settings = Settings(leader_election=False, health_address="", stop_grace=1.0)
    declared = tuple(declared)
    async with rightful(plane, OPERATOR, needed(declared)):
        transport = await HttpTransport(connection(plane, OPERATOR)).open()
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
    provider = AnsweringMemory((ZONE,))
    path = DNSEndpoint.RESOURCE.path(namespace, "www")

    def ready() -> bool:
        found = request(control_plane, "GET", path).body.get("status", {}).get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in found)

    async def story() -> None:
        rules = Rules(zones=(ZONE,), owner="me", namespace=namespace)
        declared = controllers(Options(rules, Intervals(spacing=0.05, poll=1.0)), provider)
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


def seamark(plane: ControlPlane, *words: str) -> subprocess.CompletedProcess[str]:
    chosen = {"SEAMARK_DNS_PROVIDER": "memory", "SEAMARK_DNS_ZONES": ZONE}
    mine = {**chosen, "SEAMARK_NAMESPACE": "default", "COLUMNS": "200"}
    program = [sys.executable, "-c", "from seamark.cli.main import main; main()"]
    command = [*program, "dns", *words, "--kubeconfig", str(plane.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **mine}, timeout=120)


def test_a_dry_run_prints_a_table_and_once_ends_with_what_is_not_served(
    control_plane: ControlPlane, namespace: str
) -> None:
    install(control_plane, DNS_ENDPOINT)
    request(control_plane, "POST", DNSEndpoint.RESOURCE.path(namespace), manifest("www"))
    request(control_plane, "POST", DNSEndpoint.RESOURCE.path(namespace), manifest("bad", targets=["nonsense"]))
    path = DNSEndpoint.RESOURCE.path(namespace, "www")

    planned = seamark(control_plane, "run", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "create" in planned.stdout
    assert f"www.{ZONE}" in planned.stdout
    assert "'nonsense' is not an IPv4 address" in planned.stdout
    assert "finalizers" not in request(control_plane, "GET", path).body["metadata"]  # nothing was written

    synced = seamark(control_plane, "run", "--once")
    assert synced.returncode == 1
    assert f"{namespace}/bad: " in synced.stderr
    assert f"{namespace}/www: www.{ZONE} A: no name server serves it" in synced.stderr  # the provider is memory
    said = {one["type"]: one["status"] for one in request(control_plane, "GET", path).body["status"]["conditions"]}
    assert said == {"Accepted": "True", "Ready": "Unknown"}
    for name in ("www", "bad"):
        marks = {"metadata": {"finalizers": None}}
        merge = "application/merge-patch+json"
        request(control_plane, "PATCH", DNSEndpoint.RESOURCE.path(namespace, name), marks, content_type=merge)
