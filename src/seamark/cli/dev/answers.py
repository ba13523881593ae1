"""Questions that are answered for real: an HTTP request, a look into DNS, an object.

- `curl: service default/echo` asks where the Service's status says; `gateway` likewise, with the `host` of a route;
  `workload` asks its endpoint; a URL is a name inside the cluster.
- `dig: www.example.test A` asks the name server. `read: configmap default/hello` asks the API server.
- `says` are texts that the answer has in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import dns.asyncquery
import dns.exception
import dns.message
import msgspec

from seamark.api.meta import Key
from seamark.core.errors import UserError
from seamark.core.resolver import Resolver, heard
from seamark.core.transport import NoAnswerError, Request, Transport
from seamark.explain.kinds import GATEWAYS, SERVICE, WORKLOAD, named

OF_GATEWAY = "gateway.networking.k8s.io/gateway-name"
INSIDE = ".svc.cluster.local"
PATIENCE = 5.0

Raw = dict[str, Any]


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that must answer. Exactly one of `curl`, `dig` and `read` is said."""

    curl: str = ""
    dig: str = ""
    read: str = ""
    host: str = ""
    path: str = "/"
    says: tuple[str, ...] = ()

    def __str__(self) -> str:
        return next(f"{name} {text}" for name in ("curl", "dig", "read") if (text := getattr(self, name)))


@dataclass(frozen=True)
class Answer:
    """What came of a question: whether it was answered as it should be, the words, and what a person would type."""

    good: bool
    words: str
    command: str = ""


class NotYet(Exception):
    """Why a question can't be asked yet."""


@dataclass
class Asker:
    """Asks as a person on this machine would: `names` is the name server, `inside` the one of the cluster."""

    transport: Transport
    kubeconfig: str
    names: str = ""
    inside: str = ""

    async def ask(self, question: Question) -> Answer:
        try:
            if question.dig:
                return await self._dig(question)
            return await (self._curl(question) if question.curl else self._read(question))
        except NotYet as error:
            return Answer(False, str(error))
        except (OSError, TimeoutError, aiohttp.ClientError, NoAnswerError, dns.exception.DNSException) as error:
            return Answer(False, str(error) or type(error).__name__)

    # ---- HTTP

    async def _curl(self, question: Question) -> Answer:
        host, port = await self._place(question.curl)
        address, shown = await self._address(host), question.host or host
        url = f"http://{address}:{port}{question.path}"
        command = f"curl {url}" if shown == address else f"curl -H 'Host: {shown}' {url}"
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers={"Host": shown}) as response,
        ):
            text = await response.text()
        missing = [words for words in question.says if words not in text]
        good = response.status == 200 and not missing
        words = f"{response.status} {response.reason}" + (f", without {missing[0]!r}" if missing else "")
        return Answer(good, words, command)

    async def _place(self, target: str) -> tuple[str, int]:
        kind, _, name = target.partition(" ")
        if not name:
            parts = urlsplit(target)
            return f"{parts.hostname}{INSIDE}", parts.port or 80
        key = Key(*name.split("/", 1))
        if named(kind) == WORKLOAD:
            return await self._endpoint(key)
        if named(kind) == GATEWAYS:
            return await self._gateway(key)
        return _ingress(await self._object(SERVICE.path(*key)), target)

    async def _endpoint(self, key: Key) -> tuple[str, int]:
        endpoint = ((await self._object(WORKLOAD.path(*key))).get("status") or {}).get("endpoint")
        if not endpoint:
            raise NotYet(f"workload {key} has no endpoint yet")
        parts = urlsplit(endpoint)
        return parts.hostname or "", parts.port or 80

    async def _gateway(self, key: Key) -> tuple[str, int]:
        """At the Service before it, or at its own address."""
        query = {"labelSelector": f"{OF_GATEWAY}={key.name}"}
        for one in (await self._object(SERVICE.path(key.namespace), query)).get("items") or ():
            return _ingress(one, f"gateway {key}")
        gateway = await self._object(GATEWAYS.path(*key))
        for one in (gateway.get("status") or {}).get("addresses") or ():
            return one["value"], gateway["spec"]["listeners"][0]["port"]
        raise NotYet(f"gateway {key} has no address yet")

    async def _address(self, host: str) -> str:
        server = self.inside if host.endswith(INSIDE) else self.names
        return (await Resolver(server).lookup(host))[0]

    # ---- the others

    async def _dig(self, question: Question) -> Answer:
        name, _, type_ = question.dig.partition(" ")
        host, _, port = self.names.rpartition(":")
        query = dns.message.make_query(name, type_ or "A")
        answer = await heard(dns.asyncquery.udp(query, host, port=int(port), timeout=PATIENCE))
        found = sorted(rdata.to_text() for rrset in answer.answer for rdata in rrset)
        good = bool(found) and all(words in found for words in question.says)
        command = f"dig @{host} -p {port} +short {name} {type_ or 'A'}"
        return Answer(good, ", ".join(found) or "no answer", command)

    async def _read(self, question: Question) -> Answer:
        kind, _, name = question.read.partition(" ")
        resource, key = named(kind), Key(*name.split("/", 1))
        text = msgspec.json.encode(await self._object(resource.path(*key))).decode()
        missing = [words for words in question.says if words not in text]
        command = f"kubectl --kubeconfig {self.kubeconfig} get {kind} {key.name} -n {key.namespace} -o yaml"
        return Answer(not missing, f"without {missing[0]!r}" if missing else "it is there", command)

    async def _object(self, path: str, query: dict[str, str] | None = None) -> Raw:
        answer = await self.transport.send(Request("GET", path, query or {}))
        if answer.status == 404:
            raise NotYet("it is not there yet")
        if answer.status != 200:
            raise UserError(f"the API server answered {answer.status} to {path}")
        found: Raw = msgspec.json.decode(answer.body)
        return found


def _ingress(service: Raw, target: str) -> tuple[str, int]:
    """The first address that a load balancer's status shows, with its port."""
    for one in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
        host = one.get("ip") or one.get("hostname")
        ports = one.get("ports") or service["spec"]["ports"]
        return host, ports[0]["port"]
    raise NotYet(f"{target} has no address yet")
