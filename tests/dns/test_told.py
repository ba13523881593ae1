"""What ExternalDNS does not report is reported here, on the user's own object: failures 2, 3, 4 and 7 of its record."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

from seamark.families.dns.model.rules import Rules
from seamark.families.dns.model.selector import Selector
from seamark.providers.dns.domains import Domains
from seamark.providers.dns.model import Content, Record
from seamark_runtime.errors import Retry
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.answering import AnsweringMemory
from tests.dns.running import Cluster, cluster, endpoint, operating, synced, until

ZONE = "example.test"
HOSTNAME = "external-dns.alpha.kubernetes.io/hostname"


def rules(**more: Any) -> Rules:
    return Rules(**{"zones": (ZONE,), "owner": "me", "set_identifiers": True, **more})


def told(provider: AnsweringMemory, under: Rules, *objects: tuple[str, dict[str, Any]]) -> Cluster:
    """Applies the objects and waits until each has an answer."""
    world = cluster()

    async def story() -> None:
        for name, record in objects:
            world.apply(name, record)
        async with operating(world, provider, under):
            everyone = [name for name, _ in objects]
            await until(
                lambda: all(world.says(name)[0] in ("True", "False") for name in everyone),
                lambda: [world.says(name) for name in everyone],
            )

    asyncio.run(story())
    return world


def test_failure_2_a_cname_that_can_not_be_leaves_no_ownership_and_is_told() -> None:
    provider = AnsweringMemory((ZONE,))
    provider.put(Record(f"www.{ZONE}", "TXT", ("hello",), 300))
    world = told(provider, rules(), ("www", endpoint(f"www.{ZONE}", "CNAME", "example.net")))
    assert world.says("www", "Accepted")[:2] == ("False", "NotOwned")
    assert "beside which there can't be a CNAME record" in world.says("www")[2]
    assert set(provider.content(ZONE).names) == {f"www.{ZONE}"}


def test_failure_3_everything_that_is_not_served_says_why() -> None:
    provider = AnsweringMemory((ZONE,))
    provider.put(Record(f"foreign.{ZONE}", "A", ("192.0.2.9",), 300))
    world = told(
        provider,
        rules(domains=Domains(exclude=(f"secret.{ZONE}",))),
        ("foreign", endpoint(f"foreign.{ZONE}", "A", "192.0.2.1")),
        ("outside", endpoint("www.example.org", "A", "192.0.2.1")),
        ("excluded", endpoint(f"a.secret.{ZONE}", "A", "192.0.2.1")),
        ("unmanaged", endpoint(f"mail.{ZONE}", "MX", "10 mx.example.net")),
        ("unknown", endpoint(f"x.{ZONE}", "SPF", "v=spf1")),
        ("first", endpoint(f"dup.{ZONE}", "CNAME", "one.example.net")),
        ("second", endpoint(f"dup.{ZONE}", "CNAME", "two.example.net")),
    )
    said = {
        name: world.says(name, "Accepted")[1:] for name in ("foreign", "outside", "excluded", "unmanaged", "unknown")
    }
    assert said == {
        "foreign": ("NotOwned", f"foreign.{ZONE} A is on the name server already, without a valid ownership record"),
        "outside": (
            "Filtered",
            "spec.endpoints[0].dnsName: www.example.org is in none of the zones that are served here",
        ),
        "excluded": (
            "Filtered",
            f"spec.endpoints[0].dnsName: a.secret.{ZONE} is outside of the domains that are served here",
        ),
        "unmanaged": (
            "Filtered",
            "spec.endpoints[0].recordType: MX records are not managed here; those of A, AAAA, CNAME are",
        ),
        "unknown": (
            "Invalid",
            "spec.endpoints[0].recordType: 'SPF' is not one of A, AAAA, CNAME, TXT, SRV, NS, PTR, MX, NAPTR, DNAME",
        ),
    }
    assert world.ready("first")
    assert world.says("second", "Accepted")[1:] == (
        "Conflict",
        f"dup.{ZONE} CNAME is already claimed by DNSEndpoint first",
    )
    assert world.says("second")[:2] == ("False", "NotAccepted")


def test_failure_4_a_filter_that_matches_nothing_deletes_nothing() -> None:
    provider = AnsweringMemory((ZONE,))
    world = told(provider, rules(), ("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1")))

    async def story() -> None:
        updates = provider.updates
        async with operating(world, provider, rules(labels=Selector.parse("team=nobody"))):
            reads = provider.reads
            await until(lambda: provider.reads > reads + 3, "the zone is read")
        assert provider.updates == updates
        assert provider.content(ZONE).get((f"www.{ZONE}", "A", "")) is not None
        world.delete("www")
        async with operating(world, provider, rules(labels=Selector.parse("team=nobody"))):
            await until(lambda: world.get("www") is None, "what we have marked is released")
        assert dict(provider.content(ZONE).names) == {}

    asyncio.run(story())


class Raging(AnsweringMemory):
    """Answers nonsense at first."""

    async def read(self, zone: str) -> Content:
        if self.reads < 3:
            self.reads += 1
            raise ValueError("what is this?") if self.reads % 2 else Retry("come back later")
        return await super().read(zone)


def test_failure_7_an_error_of_the_provider_ends_nothing() -> None:
    world = told(Raging((ZONE,)), rules(), ("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1")))

    async def story() -> None:
        async with operating(world, Raging((ZONE,)), rules()):
            await until(lambda: world.ready("www"), lambda: world.says("www"), 30)

    asyncio.run(story())
    assert world.ready("www")


def test_a_bad_record_beside_a_good_one_holds_only_itself() -> None:
    provider = AnsweringMemory((ZONE,))
    world = cluster()

    async def story() -> None:
        world.apply("both", endpoint(f"good.{ZONE}", "A", "192.0.2.1"), endpoint(f"bad.{ZONE}", "A", "not an address"))
        async with operating(world, provider, rules()):
            await until(lambda: provider.content(ZONE).at(f"good.{ZONE}"), "the good one is served")
            await until(lambda: world.says("both")[0] == "False", lambda: world.says("both"))
            await until(
                lambda: world.get("both")["status"]["endpoints"][0]["state"] == "Programmed", lambda: world.get("both")
            )
        assert world.says("both", "Accepted")[1:] == (
            "Invalid",
            "spec.endpoints[1].targets[0]: 'not an address' is not an IPv4 address",
        )

    asyncio.run(story())


def test_records_that_an_object_no_longer_names_go_also_from_a_zone_that_it_has_left() -> None:
    provider = AnsweringMemory((ZONE, "other.test"))
    world = cluster()

    async def story() -> None:
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider, rules(zones=(ZONE, "other.test"))):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
        world.apply("www", endpoint("www.other.test", "A", "192.0.2.1"))
        async with operating(world, provider, rules(zones=(ZONE, "other.test"))):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            await until(lambda: not provider.content(ZONE).names, "nothing is left in the old zone")
            await until(
                lambda: world.get("www")["metadata"]["annotations"] == {"externaldns.k8s.io/zones": "other.test"},
                lambda: world.get("www")["metadata"],
            )

    asyncio.run(story())


def test_a_service_has_its_name_while_it_is_there_and_keeps_it_while_it_has_no_address() -> None:
    provider = AnsweringMemory((ZONE,))
    world = cluster()
    path = "/api/v1/namespaces/default/services"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default", "annotations": {HOSTNAME: f"web.{ZONE}"}},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }

    def balance(*addresses: str) -> None:
        status = {"status": {"loadBalancer": {"ingress": [{"ip": address} for address in addresses]}}}
        body = json.dumps(status).encode()
        request = HttpRequest(
            "PATCH", received_path(f"{path}/web/status"), body=body, content_type="application/merge-patch+json"
        )
        answer = world.store.handle(request)
        assert isinstance(answer, Answer)
        assert answer.status == 200, answer.body

    def served() -> tuple[str, ...]:
        found = provider.content(ZONE).get((f"web.{ZONE}", "A", ""))
        return found.targets if found is not None else ()

    async def story() -> None:
        world.store.create(service)
        async with operating(world, provider, rules(sources=frozenset(("crd", "service")))):
            await asyncio.sleep(0.2)
            assert served() == ()
            balance("192.0.2.5")
            await until(lambda: served() == ("192.0.2.5",), "it has its name")
            balance("192.0.2.6")
            await until(lambda: served() == ("192.0.2.6",), "its name leads to its new address")
            reads = provider.reads
            balance()
            await until(lambda: provider.reads > reads + 3, "the zone is read")
            assert served() == ("192.0.2.6",)
            world.store.delete("services", "default", "web")
            await until(lambda: not provider.content(ZONE).names, "nothing is left")

    asyncio.run(story())


def test_a_sync_that_is_done_once_ends_with_the_names_of_those_that_are_not_served() -> None:
    provider = AnsweringMemory((ZONE,), deny=[f"no.{ZONE}"])
    world = cluster()

    async def story() -> list[str]:
        world.apply("yes", endpoint(f"yes.{ZONE}", "A", "192.0.2.1"))
        world.apply("no", endpoint(f"no.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider, rules()) as operator:
            return await synced(world, operator, 20)

    left = asyncio.run(story())
    assert left == [f"default/no: Failed to sync: no.{ZONE} A: the server refused it (REFUSED)"]
    assert world.ready("yes")


class Keeping(AnsweringMemory):
    """Adds a property of its own to every record, and keeps a property that is removed."""

    def __init__(self) -> None:
        super().__init__((ZONE,))
        self.keeps = False

    def _replace(self, zone: str, pairs: Any) -> None:
        changed = []
        for before, after in pairs:
            kept = before.properties if self.keeps and before is not None else ()
            properties = {("own/added", "x"), *(after.properties if after is not None else ()), *kept}
            plain = after is None or after.type == "TXT"
            changed.append((before, after if plain else replace(after, properties=tuple(sorted(properties)))))
        super()._replace(zone, changed)


def test_a_removed_property_is_removed_from_the_record_or_reported() -> None:
    """Rule 52."""
    provider, world, name = Keeping(), cluster(), f"www.{ZONE}"

    def properties() -> dict[str, str]:
        found = provider.content(ZONE).get((name, "A", ""))
        return dict(found.properties) if found is not None else {}

    def apply(*given: str) -> None:
        some = [{"name": each, "value": "1"} for each in given]
        world.apply("www", endpoint(name, "A", "192.0.2.1", providerSpecific=some))

    async def story() -> None:
        apply("aws/weight", "aws/region")
        async with operating(world, provider, rules()):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            assert properties() == {"aws/weight": "1", "aws/region": "1", "own/added": "x"}
        apply("aws/region")  # while no operator runs
        async with operating(world, provider, rules()):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            assert properties() == {"aws/region": "1", "own/added": "x"}
            provider.keeps = True
            apply()
            await until(lambda: world.says("www")[1] == "Failed", lambda: world.says("www"))
            provider.keeps = False
            await until(lambda: world.ready("www") and properties() == {"own/added": "x"}, lambda: world.says("www"))

    asyncio.run(story())
