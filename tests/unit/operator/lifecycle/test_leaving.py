"""Before an uninstall nothing of ours holds on to users' objects any more."""

from __future__ import annotations

import pytest

from seamark.api.dns import DNSEndpoint
from seamark.families.bindings.family import BINDINGS
from seamark.families.dns.family import DNS, DNS_ENDPOINT
from seamark.families.dns.model.entries import FINALIZER
from seamark.lifecycle import secrets
from seamark.lifecycle.definitions import install, marked
from seamark.lifecycle.leaving import grants, leave
from seamark.lifecycle.parts import Installation
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import UserError
from tests.unit.operator.lifecycle.small_site import HOME, Site, at

OURS = Installation("seamark", HOME)
THEIRS = "example.com/keep"


async def endpoint(site: Site, name: str, *finalizers: str) -> None:
    body = {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {"name": name, "finalizers": list(finalizers)},
        "spec": {"endpoints": []},
    }
    await site.make("/apis/externaldns.k8s.io/v1alpha1/namespaces/default/dnsendpoints", body)


def test_our_finalizers_go_and_others_stay() -> None:
    async def program(site: Site) -> None:
        await install(site.transport, marked([DNS_ENDPOINT]))
        await endpoint(site, "ours", FINALIZER, THEIRS)
        await endpoint(site, "free")
        assert await leave(site.transport, OURS.leaving([DNS], "Delete", 5)) == []
        found = {one.metadata.name: one.metadata.finalizers for one in await site.client.list(DNSEndpoint)}
        assert found == {"ours": (THEIRS,), "free": None}

    at(program)


def test_an_object_that_waits_to_be_deleted_goes() -> None:
    async def program(site: Site) -> None:
        await install(site.transport, marked([DNS_ENDPOINT]))
        await endpoint(site, "going", FINALIZER)
        await site.ask("DELETE", "/apis/externaldns.k8s.io/v1alpha1/namespaces/default/dnsendpoints/going")
        await leave(site.transport, OURS.leaving([DNS], "Delete", 5))
        assert not await site.client.list(DNSEndpoint)

    at(program)


def test_the_control_plane_is_stopped_first_and_its_secrets_go() -> None:
    async def program(site: Site) -> None:
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        await site.make(f"/apis/apps/v1/namespaces/{HOME}/deployments", {"metadata": {"name": "seamark"}, "spec": spec})
        await secrets.keep(site.client, HOME, OURS.authority, OURS.certificates(xds=True, edge=True))
        await leave(site.transport, OURS.leaving([DNS], "Delete", 5))
        _, deployment = await site.ask("GET", f"/apis/apps/v1/namespaces/{HOME}/deployments/seamark")
        assert deployment["spec"]["replicas"] == 0
        assert not await site.client.list(Secret, namespace=HOME)

    at(program)


def test_kinds_that_are_not_there_are_no_trouble() -> None:
    assert at(lambda site: leave(site.transport, OURS.leaving([DNS], "Retain", 1))) == []


def test_a_policy_that_is_none_is_refused() -> None:
    with pytest.raises(UserError, match="there are Delete and Retain"):
        OURS.leaving([DNS], "Burn", 1)


def test_each_family_that_runs_apart_has_a_lease_and_a_deployment() -> None:
    plan = Installation("sea", HOME, split=True).leaving([DNS, BINDINGS], "Delete", 1)
    assert plan.deployments == ("sea-dns", "sea-bindings")
    assert plan.leases == {"sea-dns": ("dns",), "sea-bindings": ("bindings",)}
    assert {grant.name for grant in grants(plan) if grant.resource == "deployments/scale"} == {
        "sea-dns",
        "sea-bindings",
    }


def test_secrets_are_made_once_and_made_again_when_they_are_due() -> None:
    async def program(site: Site) -> None:
        wanted = OURS.certificates(xds=True, edge=True, edge_host="edge.example.com")
        assert len(await secrets.keep(site.client, HOME, OURS.authority, wanted)) == 3
        before = (await site.client.get(Secret, Key(HOME, OURS.edge))).data or {}
        assert set(before) == {"tls.crt", "tls.key", "ca.crt", "agent-token", "api-key"}
        assert await secrets.keep(site.client, HOME, OURS.authority, wanted) == []
        authority = await site.client.get(Secret, Key(HOME, OURS.authority))
        await site.client.delete(Secret, authority.key, uid=authority.uid)
        assert len(await secrets.keep(site.client, HOME, OURS.authority, wanted)) == 3
        after = (await site.client.get(Secret, Key(HOME, OURS.edge))).data or {}
        assert after["tls.crt"] != before["tls.crt"]
        assert after["agent-token"] == before["agent-token"]  # agents go on

    at(program)
