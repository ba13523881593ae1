"""Where the address of a tenant may not lead."""

from __future__ import annotations

import asyncio

import pytest

from seamark.core.reach import Forbidden, allowed, forbidden

INSIDE = "KUBERNETES_SERVICE_HOST"
NEVER = (
    *("169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "fd00:ec2::254"),
    *("100.100.100.200", "168.63.129.16", "0.0.0.0", "::", "224.0.0.1", "ff02::1"),
)
LOOPBACK = ("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "localhost", "LOCALHOST.", "me.localhost")


@pytest.mark.parametrize("address", NEVER)
def test_the_link_and_the_clouds_metadata_are_never_asked(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for inside in ("", "10.96.0.1"):
        monkeypatch.setenv(INSIDE, inside)
        assert forbidden(address)


@pytest.mark.parametrize("address", LOOPBACK)
def test_the_loopback_is_nobodys_business_inside_of_a_pod(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "10.96.0.1")
    assert forbidden(address)
    monkeypatch.setenv(INSIDE, "127.96.0.1")  # a cluster that is itself on the loopback
    assert not forbidden(address)
    monkeypatch.delenv(INSIDE)
    assert not forbidden(address)


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.1", "203.0.113.9", "2001:db8::1", "web.shop", "fd12::1"])
def test_services_are_reached_wherever_they_are(address: str) -> None:
    assert not forbidden(address)


def test_what_a_name_leads_to_counts_and_only_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "10.96.0.1")
    answers = {"bad": ["169.254.169.254"], "mixed": ["127.0.0.1", "10.0.0.7"], "good": ["10.0.0.8"]}

    async def ask(name: str) -> list[str]:
        async def resolve(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
            return [(2, 1, 6, "", (address, 80)) for address in answers[host]]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        return await allowed(name, 80)

    with pytest.raises(Forbidden, match="bad leads to a link-local or metadata address"):
        asyncio.run(ask("bad"))
    assert asyncio.run(ask("mixed")) == ["10.0.0.7"]
    assert asyncio.run(ask("good")) == ["10.0.0.8"]
