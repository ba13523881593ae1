"""The webhook protocol: our server and our client, field by field, and the operator through both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from seamark.families.dns.model.rules import Rules
from seamark.families.dns.oneshot.dryrun import dry_run
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Change, Part, Record, RecordRefused, Unwritable
from seamark.providers.dns.webhook import EVERYTHING, WebhookProvider
from seamark.providers.dns.webhook_server import WebhookServer
from seamark_cluster.real.ports import Ports
from seamark_runtime.errors import Retry
from tests.answering import Agreeing
from tests.dns.running import cluster, endpoint, operating, until

MEDIA = "application/external.dns.webhook+json;version=1"
ZONE = "example.test"


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    ports = Ports("127.0.0.1")
    port = ports.reserve()
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
        ports.close()


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[WebhookProvider]:
    provider = WebhookProvider(url, timeout=2.0, querier=Agreeing())
    try:
        yield provider
    finally:
        await provider.close()


def test_our_server_speaks_the_protocol_field_by_field() -> None:
    async def story() -> None:
        memory = MemoryProvider((ZONE,))
        memory.put(Record(f"www.{ZONE}", "A", ("192.0.2.1",), 60))
        memory.put(Record(f"a-www.{ZONE}", "TXT", ("heritage=external-dns,external-dns/owner=me",), 300))
        async with serving(WebhookServer(memory).app) as url, aiohttp.ClientSession() as session:

            async def ask(method: str, path: str, body: Any = None, media: str = MEDIA) -> tuple[int, str, Any]:
                headers = {"Accept": media} | ({"Content-Type": media} if body is not None else {})
                data = None if body is None else json.dumps(body)
                async with session.request(method, url + path, data=data, headers=headers) as answer:
                    text = await answer.text()
                    return answer.status, answer.headers.get("Content-Type", ""), json.loads(text) if text else None

            assert await ask("GET", "/") == (200, MEDIA, {"include": [ZONE]})
            assert await ask("GET", "/records") == (
                200,
                MEDIA,
                [
                    {"dnsName": f"www.{ZONE}", "targets": ["192.0.2.1"], "recordType": "A", "recordTTL": 60},
                    {
                        "dnsName": f"a-www.{ZONE}",
                        "targets": ['"heritage=external-dns,external-dns/owner=me"'],
                        "recordType": "TXT",
                        "recordTTL": 300,
                    },
                ],
            )
            wild = {"dnsName": f"WWW.{ZONE}.", "targets": ["192.0.2.1"], "recordType": "A", "labels": {"a": "b"}}
            assert (await ask("POST", "/adjustendpoints", [wild]))[2] == [
                {"dnsName": f"www.{ZONE}", "targets": ["192.0.2.1"], "recordType": "A", "labels": {"a": "b"}}
            ]
            new = {"dnsName": f"new.{ZONE}", "targets": ["192.0.2.2"], "recordType": "A", "recordTTL": 300}
            old = {"dnsName": f"www.{ZONE}", "targets": ["192.0.2.1"], "recordType": "A", "recordTTL": 60}
            body = {"create": [new], "updateOld": [old], "updateNew": [{**old, "targets": ["192.0.2.9"]}], "delete": []}
            assert (await ask("POST", "/records", body))[::2] == (204, None)
            assert memory.content(ZONE).at(f"www.{ZONE}")[0].targets == ("192.0.2.9",)
            assert (await ask("POST", "/records", {"delete": [new]}))[0] == 204
            assert memory.content(ZONE).at(f"new.{ZONE}") == ()
            assert (await ask("GET", "/records", media="application/json"))[0] == 406
            assert (await ask("POST", "/records", body, media="application/json"))[0] == 415
            assert (await ask("POST", "/records", ["nonsense"]))[0] == 400
            assert (await ask("POST", "/records", {"create": [{**new, "dnsName": "elsewhere.net"}]}))[0] == 400

    asyncio.run(story())


def test_the_operator_serves_records_through_a_webhook_provider_and_one_refused_holds_nobody() -> None:
    async def story() -> None:
        memory = MemoryProvider((ZONE,), deny=[f"refused.{ZONE}"])
        world = cluster()
        names = [f"h{number}" for number in range(12)]
        for name in [*names, "refused"]:
            world.apply(name, endpoint(f"{name}.{ZONE}", "A", "192.0.2.1", recordTTL=60))
        world.apply("outside", endpoint("www.example.net", "A", "192.0.2.1"))
        async with serving(WebhookServer(memory).app) as url, client_of(url) as provider:
            rules = Rules(zones=provider.zones, owner="me", set_identifiers=True)
            async with operating(world, provider, rules):
                await until(lambda: all(map(world.ready, names)), lambda: [world.says(name) for name in names], 40)
                await until(lambda: world.says("refused")[1] == "Failed", lambda: world.says("refused"))
                assert "POST /records of the webhook provider answered 400" in world.says("refused")[2]
                await until(lambda: world.says("outside")[1] == "Failed", lambda: world.says("outside"))
                assert "does not serve www.example.net" in world.says("outside")[2]
                world.delete("h0")
                await until(lambda: world.get("h0") is None, lambda: world.says("h0"))
                assert memory.content(ZONE).at(f"h0.{ZONE}") == ()
                assert memory.content(ZONE).at(f"a-h0.{ZONE}") == ()

    asyncio.run(story())


class Particular(MemoryProvider):
    """Takes no TTL below an hour, and no name that is shy."""

    async def adjust(self, records: Sequence[Record]) -> list[Record]:
        lasting = [replace(record, ttl=max(3600, record.ttl)) for record in records]
        return [record for record in lasting if not record.name.startswith("shy.")]


def test_records_are_as_the_provider_would_rather_have_them() -> None:
    """`POST /adjustendpoints`: the plan is made of what it answers, so that what it changed is no drift."""

    async def story() -> None:
        memory = Particular((ZONE,))
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1", recordTTL=60))
        world.apply("shy", endpoint(f"shy.{ZONE}", "A", "192.0.2.1"))
        async with serving(WebhookServer(memory).app) as url, client_of(url) as provider:
            rules = Rules(zones=provider.zones, owner="me", set_identifiers=True)
            async with operating(world, provider, rules):
                await until(lambda: world.ready("www"), lambda: world.says("www"))
                await until(lambda: world.says("shy")[0] == "False", lambda: world.says("shy"))
                assert f"the provider does not take shy.{ZONE} A" in world.says("shy")[2]
                assert memory.content(ZONE).at(f"www.{ZONE}")[0].ttl == 3600
                updates, reads = provider.updates, memory.reads
                await until(lambda: memory.reads > reads + 6, "the provider is read a few times")
                assert provider.updates == updates
            found = await dry_run(provider, rules, [])
            assert found == []

    asyncio.run(story())


def change(name: str) -> Change:
    record = Record(f"{name}.{ZONE}", "A", ("192.0.2.1",), 60)
    owner = Record(f"a-{name}.{ZONE}", "TXT", ("heritage=external-dns,external-dns/owner=me",))
    return Change(record.slot, (Part(None, record), Part(None, owner)))


def answering(**answers: Any) -> tuple[web.Application, list[Any]]:
    """A provider with scripted answers, which keeps what it was sent, and lists what was to be created."""
    sent: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            sent.append(json.loads(await request.read()))
        key = f"{request.method.lower()}_{request.path.strip('/')}"
        created = [one for message in sent if isinstance(message, dict) for one in message.get("create", [])]
        usual = b"{}" if request.path == "/" else json.dumps(created).encode()
        status, media, body = answers.get(key, (200, MEDIA, usual))
        if status == 0:
            await asyncio.sleep(60)
        return web.Response(status=status, body=body, headers={"Content-Type": media})

    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", handle)
    return app, sent


def test_ownership_is_written_first_and_removed_last() -> None:
    async def story() -> None:
        app, sent = answering(post_records=(204, MEDIA, b""))
        async with serving(app) as url, client_of(url) as provider:
            await provider.apply(EVERYTHING, [change("a")])
        assert [[one["recordType"] for one in message["create"]] for message in sent] == [["TXT"], ["A"]]
        assert sent[0]["create"][0]["targets"] == ['"heritage=external-dns,external-dns/owner=me"']

    asyncio.run(story())


@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        ({"get_records": (500, MEDIA, b"")}, Retry, "GET /records of the webhook provider answered 500"),
        ({"get_records": (200, "application/json", b"[]")}, Retry, "media type 'application/json'"),
        ({"get_records": (200, MEDIA, b"[{]")}, Retry, "answered nonsense"),
        ({"get_records": (200, MEDIA, b'{"a": 1}')}, Retry, "answered nonsense"),
        ({"get_records": (0, MEDIA, b"")}, Retry, "no answer within 2 s"),
        ({"post_records": (200, MEDIA, b"")}, RecordRefused, "answered 200"),  # exactly 204 is due
        ({"post_records": (500, MEDIA, b"")}, RecordRefused, "answered 500"),
        ({"post_records": (403, MEDIA, b"")}, Unwritable, "answered 403"),
    ],
)
def test_a_provider_that_answers_nonsense_or_never_is_told(answers: Any, error: type[Exception], words: str) -> None:
    async def story() -> None:
        async with serving(answering(**answers)[0]) as url, client_of(url) as provider:
            with pytest.raises(error, match=words):
                await provider.apply(EVERYTHING, [change("a")])

    asyncio.run(story())


def test_a_wildcard_is_served_and_deleted_and_an_apex_without_a_place_for_its_owner_is_not_made() -> None:
    """Rules 61 to 63, with a provider that serves everything that is asked for, as one without a domain filter."""

    async def story() -> None:
        memory, world = MemoryProvider((ZONE,)), cluster()
        world.apply("wild", endpoint(f"*.{ZONE}", "A", "192.0.2.1", recordTTL=60))
        world.apply("apex", endpoint(ZONE, "A", "192.0.2.1", recordTTL=60))
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1", recordTTL=60))
        async with serving(WebhookServer(memory).app) as url, client_of(url) as provider:
            rules = Rules(zones=provider.zones, owner="me", set_identifiers=True)
            async with operating(world, provider, rules):
                await until(lambda: world.ready("wild") and world.ready("www"), lambda: world.says("wild"))
                await until(lambda: world.says("apex")[1] == "Failed", lambda: world.says("apex"))
                assert "set dns_txt_prefix to one that ends with a dot" in world.says("apex")[2]
                assert memory.content(ZONE).at(ZONE) == ()
                world.delete("wild")
                world.delete("apex")
                await until(lambda: world.get("wild") is None and world.get("apex") is None, lambda: world.says("wild"))
                assert sorted(memory.content(ZONE).names) == [f"a-www.{ZONE}", f"www.{ZONE}"]

    asyncio.run(story())
