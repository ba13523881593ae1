"""DNSEndpoints of two tenants on a real API server (docs/spec/dns/dnsendpoint.md, rules 37 and 38)."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.family import DNS_ENDPOINT, controllers
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.controller import Declaration
from tests.answering import AnsweringMemory
from tests.cluster.operator_under_test import until
from tests.cluster.requests import install, request
from tests.cluster.test_dns_kinds import ZONE, manifest, running

VICTIM, THIEF = "192.0.2.1", "203.0.113.6"


@pytest.fixture
def other(control_plane: ControlPlane) -> Iterator[str]:
    """The namespace of a second tenant."""
    name = f"test-{secrets.token_hex(4)}"
    assert request(control_plane, "POST", "/api/v1/namespaces", {"metadata": {"name": name}}).code == 201
    yield name
    request(control_plane, "DELETE", f"/api/v1/namespaces/{name}")


def declared(provider: AnsweringMemory) -> tuple[Declaration, ...]:
    return controllers(Options(Rules(zones=(ZONE,), owner="me"), Intervals(spacing=0.05, poll=1.0)), provider)


class Tenant:
    """What one of them does and sees, about one name."""

    def __init__(self, plane: ControlPlane, namespace: str, dns_name: str) -> None:
        self._plane = plane
        self.namespace = namespace
        self._dns_name = dns_name

    def manifest(self, name: str, **endpoint: Any) -> dict[str, Any]:
        return manifest(name, **{"dnsName": self._dns_name, "targets": [VICTIM], **endpoint})

    async def make(self, name: str, **endpoint: Any) -> None:
        path = DNSEndpoint.RESOURCE.path(self.namespace)
        answer = await asyncio.to_thread(request, self._plane, "POST", path, self.manifest(name, **endpoint))
        assert answer.code == 201, answer.body

    async def delete(self, name: str) -> None:
        await asyncio.to_thread(request, self._plane, "DELETE", DNSEndpoint.RESOURCE.path(self.namespace, name))

    async def status(self, name: str) -> dict[str, Any]:
        path = DNSEndpoint.RESOURCE.path(self.namespace, name)
        found = await asyncio.to_thread(request, self._plane, "GET", path)
        return dict(found.body.get("status", {})) if found.code == 200 else {}

    async def says(self, name: str, type_: str, status: str) -> dict[str, Any]:
        """Waits for a condition, and returns it."""
        seen: list[dict[str, Any]] = []

        async def there() -> bool:
            conditions = (await self.status(name)).get("conditions", [])
            seen[:] = [one for one in conditions if one["type"] == type_ and one["status"] == status]
            return bool(seen)

        await until(there, f"{name} is {type_}={status}")
        return seen[0]

    async def gone(self, name: str) -> None:
        async def missing() -> bool:
            return not await self.status(name)

        await until(missing, f"{name} is gone")


@pytest.mark.parametrize(
    "forged", ["external-dns/owner=zzz", "external-dns/owner=zzz=1", "external-dns/resource=crd/b/x"]
)
@pytest.mark.parametrize("where", ["key", "value"])
def test_labels_forge_no_ownership(
    control_plane: ControlPlane, namespace: str, other: str, forged: str, where: str
) -> None:
    """Rule 37: refused on the tenant's own object; the name stays free for others, who see nothing of it."""
    install(control_plane, DNS_ENDPOINT)
    provider = AnsweringMemory((ZONE,))
    name = f"www.{namespace}.{ZONE}"  # of this test alone
    attacker, victim = Tenant(control_plane, namespace, name), Tenant(control_plane, other, name)
    labels = {"x": f"1,{forged}"} if where == "value" else {f"x=1,{forged},y": "1"}

    async def story() -> None:
        async with running(control_plane, declared(provider)):
            await attacker.make("forger", labels=labels)
            accepted = await attacker.says("forger", "Accepted", "False")
            assert accepted["reason"] == "Invalid"
            assert accepted["message"].startswith("spec.endpoints[0].labels: the ")
            await victim.make("www")
            await victim.says("www", "Ready", "True")
            assert "zzz" not in json.dumps(await victim.status("www"))
            await victim.delete("www")
            await victim.gone("www")
            await attacker.delete("forger")
            await attacker.gone("forger")
            assert [one for one in provider.content(ZONE).names if namespace in one] == []

    asyncio.run(story())


def test_a_standing_claim_does_not_get_a_name_while_its_object_is_replaced(
    control_plane: ControlPlane, namespace: str, other: str
) -> None:
    """Rule 38, with `kubectl replace --force`: it deletes, waits until the object is gone, and creates."""
    install(control_plane, DNS_ENDPOINT)
    provider = AnsweringMemory((ZONE,))
    name = f"www.{namespace}.{ZONE}"  # of this test alone
    attacker, victim = Tenant(control_plane, namespace, name), Tenant(control_plane, other, name)

    async def story() -> None:
        async with running(control_plane, declared(provider)) as operator:
            await victim.make("www")
            await victim.says("www", "Ready", "True")
            await attacker.make("ambush", targets=[THIEF])
            await attacker.says("ambush", "Accepted", "False")
            for number in range(3):
                replaced = json.dumps(victim.manifest("www", recordTTL=60 + number))
                command = ("replace", "--force", "-n", other, "-f", "-")
                await asyncio.to_thread(control_plane.kubectl, *command, stdin=replaced)
                await victim.says("www", "Ready", "True")
                await until(lambda: operator.quiet, "nothing is left to do")
                assert provider.content(ZONE).at(name)[0].targets == (VICTIM,)
                assert (await attacker.says("ambush", "Accepted", "False"))["reason"] == "Conflict"
            words = json.dumps(await attacker.status("ambush"))
            assert other not in words

    asyncio.run(story())


def test_a_standing_claim_does_not_get_a_name_while_the_operator_restarts(
    control_plane: ControlPlane, namespace: str, other: str
) -> None:
    """Rule 38: what its status says is remembered by the API server."""
    install(control_plane, DNS_ENDPOINT)
    provider = AnsweringMemory((ZONE,))
    name = f"www.{namespace}.{ZONE}"  # of this test alone
    attacker, victim = Tenant(control_plane, namespace, name), Tenant(control_plane, other, name)

    async def story() -> None:
        async with running(control_plane, declared(provider)):
            await victim.make("www")
            await victim.says("www", "Ready", "True")
            await attacker.make("ambush", targets=[THIEF])
            await attacker.says("ambush", "Accepted", "False")
            await victim.delete("www")
            await victim.gone("www")

            words = f"{name} A is kept for another namespace until it has been free for 10 minutes"

            async def kept() -> bool:
                return bool((await attacker.says("ambush", "Accepted", "False"))["message"] == words)

            await until(kept, "it reports that the name is reserved")
        async with running(control_plane, declared(provider)) as operator:
            await until(lambda: not operator.missing() and operator.quiet, "everything is read")
            assert (await attacker.says("ambush", "Accepted", "False"))["message"] == words
            assert provider.content(ZONE).at(name) == ()
            await victim.make("www")
            await victim.says("www", "Ready", "True")
            assert provider.content(ZONE).at(name)[0].targets == (VICTIM,)

    asyncio.run(story())
