"""Names that affect names of another tenant, on a real API server (docs/spec/dns/dnsendpoint.md, rules 34, 41, 74)."""

from __future__ import annotations

import asyncio

import pytest

from seamark.families.dns.family import DNS_ENDPOINT
from seamark_cluster.real.plane import ControlPlane
from tests.answering import AnsweringMemory
from tests.cluster.operator_under_test import until
from tests.cluster.requests import install
from tests.cluster.test_dns_kinds import ZONE, running
from tests.cluster.test_dns_tenants import THIEF, Tenant, declared, other

__all__ = ["other"]  # a fixture


@pytest.mark.parametrize(
    ("has", "claims"),
    [
        ("*.{}", ["foo.{}", "_acme-challenge.foo.{}"]),
        ("{}", ["*.{}"]),
        ("*.{}", ["{}", "_acme-challenge.{}"]),
    ],
    ids=["below a wildcard", "a wildcard below", "the parent of a wildcard"],
)
def test_names_that_affect_a_name_of_another_tenant_are_refused_one_after_the_other(
    control_plane: ControlPlane, namespace: str, other: str, has: str, claims: list[str]
) -> None:
    install(control_plane, DNS_ENDPOINT)
    provider = AnsweringMemory((ZONE,))
    host = f"{namespace}.{ZONE}"  # of this test alone
    victim = Tenant(control_plane, other, has.format(host))

    async def story() -> None:
        async with running(control_plane, declared(provider)) as operator:
            await victim.make("mine")
            await victim.says("mine", "Ready", "True")
            for number, name in enumerate(claims):
                attacker = Tenant(control_plane, namespace, name.format(host))
                await attacker.make(f"claim-{number}", targets=[THIEF])
                accepted = await attacker.says(f"claim-{number}", "Accepted", "False")
                assert accepted["reason"] == "Conflict"
                assert other not in str(await attacker.status(f"claim-{number}"))
            await until(lambda: operator.quiet, "nothing is left to do")
            served = [record for record in provider.content(ZONE) if record.type == "A"]
            assert [record.name for record in served if host in record.name] == [has.format(host)]
            await victim.says("mine", "Ready", "True")
            await victim.delete("mine")  # while an operator is there to release it: the control plane is shared
            await victim.gone("mine")

    asyncio.run(story())
