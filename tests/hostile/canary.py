"""python -m tests.hostile.canary CONFIG: changes an object of each family again and again, and writes down how long it
took until its status was about the change.

A process of its own, so that whatever the attack costs the judge is not counted as the operator's. CONFIG is a JSON
file with `url`, `ca`, `token`, `namespace`, `home`, `private`, `out`, and what is looked at from outside: `gateway`
(its address), `edge` (HOST:PORT for TLS), `resolver` (HOST:PORT).
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import dns.asyncquery
import dns.exception
import dns.message

from tests.hostile.client import MERGE, Client, Place, decoded
from tests.hostile.known_names import CANARY_HOST, ZONE
from tests.hostile.verdict import spoken

PAUSE = 0.5  # seconds between two changes of one object
LIMIT = 60.0
LASTING = 5  # looks in a row that fail, after which the canary is not served any more
Json = dict[str, Any]
NGROK = "ngrok.k8s.ngrok.com/v1alpha1"
GATEWAY = "gateway.networking.k8s.io/v1"


def container(number: int) -> Json:
    return {"spec": {"containers": {"main": {"variables": {"NUMBER": str(number)}}}}}


def records(number: int) -> Json:
    record = {"dnsName": f"shop.{ZONE}", "recordType": "A", "targets": ["192.0.2.200"], "recordTTL": 60 + number % 60}
    return {"spec": {"endpoints": [record]}}


def rule(number: int) -> Json:
    backend = {"group": "", "kind": "Service", "name": "web", "port": 80, "weight": 1 + number % 9}
    return {
        "spec": {"rules": [{"backendRefs": [backend], "matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}]}
    }


def described(number: int) -> Json:
    return {"spec": {"description": str(number)}}


CHANGES: dict[str, tuple[Place, str, Callable[[int], Json]]] = {
    "sample": (
        Place("Greeting", "sample.seamark.dev/v1alpha1", "greetings"),
        "greeting",
        lambda number: {"spec": {"text": str(number)}},
    ),
    "dns": (Place("DNSEndpoint", "externaldns.k8s.io/v1alpha1", "dnsendpoints"), "records", records),
    "agent": (Place("AgentEndpoint", NGROK, "agentendpoints"), "agent", described),
    "cloud": (Place("CloudEndpoint", NGROK, "cloudendpoints"), "cloud", described),
    "score": (Place("Workload", "score.dev/v1b1", "workloads"), "work", container),
    "gateway": (
        Place("Gateway", GATEWAY, "gateways"),
        "front",
        lambda number: {"spec": {"infrastructure": {"labels": {"n": str(number)}}}},
    ),
    "route": (Place("HTTPRoute", GATEWAY, "httproutes"), "route", rule),
    "traffic": (
        Place("TrafficPolicy", "gateway.kgateway.dev/v1alpha1", "trafficpolicies"),
        "policy",
        lambda number: {"spec": {"timeouts": {"request": f"{10 + number % 50}s"}}},
    ),
    "bindings": (Place("KubernetesOperator", NGROK, "kubernetesoperators"), "", described),
}


class Canary:
    def __init__(self, config: Json) -> None:
        self._config = config
        self._out = Path(config["out"])
        self._client = Client(config["url"], Path(config["ca"]), config["token"])

    async def run(self) -> None:
        async with self._client, asyncio.TaskGroup() as group:
            for number, name in enumerate(CHANGES):
                group.create_task(self._changing(name, number * PAUSE / len(CHANGES)))
            group.create_task(self._looking())

    def _write(self, **entry: object) -> None:
        with self._out.open("a") as out:
            out.write(json.dumps({"at": time.time(), **entry}) + "\n")

    # ---- time to the next status

    async def _changing(self, family: str, delay: float) -> None:
        await asyncio.sleep(delay)
        number = 0
        while True:
            number += 1
            try:
                took = await self._time(family, number)
            except (aiohttp.ClientError, OSError) as error:
                self._write(trouble=f"{family}: {error}")
                await asyncio.sleep(1)
                continue
            self._write(family=family, seconds=round(took, 4))
            await asyncio.sleep(PAUSE)

    async def _time(self, family: str, number: int) -> float:
        place, start, change = CHANGES[family]
        namespace = self._config["namespace"] if start else self._config["home"]
        name = f"{start}-{self._config['private']}" if start else "seamark"
        began = time.monotonic()
        path = place.path(namespace, name)
        answer = await self._client.ask("PATCH", path, json.dumps(change(number)).encode(), MERGE)
        if answer.code != 200:
            raise OSError(answer.message)
        meta = answer.body["metadata"]
        selector = f"fieldSelector=metadata.name%3D{name}&resourceVersion={meta['resourceVersion']}"
        try:
            async with asyncio.timeout(LIMIT):
                await self._until(f"{place.path(namespace)}?watch=true&{selector}", meta["generation"])
        except TimeoutError:
            return LIMIT
        return time.monotonic() - began

    async def _until(self, path: str, generation: int) -> None:
        async for line in self._client.lines(path):
            obj = decoded(line).get("object") or {}
            if (obj.get("metadata") or {}).get("generation", 0) > generation:
                return
            if spoken(obj.get("status"), generation) and _observed(obj.get("status"), generation):
                return

    # ---- what others see of it

    async def _looking(self) -> None:
        failed: dict[str, int] = {}
        while True:
            for name, look in (("gateway", self._gateway), ("edge", self._edge), ("record", self._record)):
                try:
                    async with asyncio.timeout(10):
                        wrong, failed[name] = await look(), 0
                except (OSError, TimeoutError, aiohttp.ClientError, dns.exception.DNSException) as error:
                    failed[name] = failed.get(name, 0) + (LASTING if isinstance(error, TimeoutError) else 1)
                    lasting = LASTING <= failed[name] < 2 * LASTING
                    wrong = f"no response any more: {type(error).__name__}" if lasting else ""
                if wrong:
                    self._write(crossed=name, words=wrong[:200])
            await asyncio.sleep(1)

    async def _gateway(self) -> str:
        address = self._config["gateway"]
        timeout = aiohttp.ClientTimeout(total=5)
        headers = {"Host": CANARY_HOST}
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://{address}/", headers=headers, allow_redirects=False) as answer,
        ):
            return _wrong(await answer.text())

    async def _edge(self) -> str:
        host, port = self._config["edge"].rsplit(":", 1)
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(host, int(port), ssl=trust, server_hostname=CANARY_HOST)
        try:
            writer.write(f"GET / HTTP/1.1\r\nHost: {CANARY_HOST}\r\nConnection: close\r\n\r\n".encode())
            return _wrong((await reader.read()).decode(errors="replace"))
        finally:
            writer.close()

    async def _record(self) -> str:
        host, port = self._config["resolver"].rsplit(":", 1)
        query = dns.message.make_query(f"shop.{ZONE}", "A")
        answer = await dns.asyncquery.udp(query, host, port=int(port), timeout=5)
        found = sorted(rdata.to_text() for rrset in answer.answer for rdata in rrset)
        if not found:
            raise OSError("the record is not there")
        return "" if found == ["192.0.2.200"] else f"the canary's record is {found}"


def _observed(status: Any, generation: int) -> bool:
    """Some condition names this generation: one without a generation proves nothing about a change."""
    return f'"observedGeneration": {generation}' in json.dumps(status)


def _wrong(text: str) -> str:
    """Words if another backend than the canary's answers."""
    if "backend-of-" not in text:
        raise OSError("no backend answers")
    return "" if "backend-of-canary" in text else f"another backend answers for the canary's host: {text}"


if __name__ == "__main__":
    asyncio.run(Canary(json.loads(Path(sys.argv[1]).read_text())).run())
