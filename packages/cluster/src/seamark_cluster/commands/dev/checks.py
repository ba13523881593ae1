"""Checks against the running system: an HTTP request, a DNS query, an object.

- `curl: service default/echo` requests the address in the Service's status; `gateway` likewise, with the `host` of a
  route; `workload` requests its endpoint; a URL is a name inside the cluster.
- `dig: www.example.test A` queries the name server. `read: configmap default/hello` reads from the API server.
- `says` are texts that the response must contain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import aiohttp
import dns.asyncquery
import dns.exception
import dns.message
import msgspec

from seamark.explain.kinds import GATEWAYS, SERVICE, WORKLOAD, named
from seamark_edge.urls import BadUrl, upstream
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import UserError
from seamark_runtime.resolver import Resolver, cancellable
from seamark_runtime.transport import HttpRequest, NoAnswerError, Transport
from seamark_runtime.untrusted.bodies import read_body
from seamark_runtime.untrusted.decoding import Malformed
from seamark_runtime.untrusted.names import ApiPath

OF_GATEWAY = "gateway.networking.k8s.io/gateway-name"
INSIDE = ".svc.cluster.local"
PATIENCE = 5.0
LARGEST = 2**20  # bytes of a response

Raw = dict[str, Any]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One check. Exactly one of `curl`, `dig` and `read` is set."""

    curl: str = ""
    dig: str = ""
    read: str = ""
    host: str = ""
    path: str = "/"
    contains: tuple[str, ...] = msgspec.field(default=(), name="says")

    def __str__(self) -> str:
        return next(f"{name} {text}" for name in ("curl", "dig", "read") if (text := getattr(self, name)))


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check: whether it passed, the text to show, and the equivalent shell command."""

    good: bool
    message: str
    command: str = ""


class NotYet(Exception):
    """The check can't be made yet; the message says why."""


@dataclass
class Checker:
    """Makes the checks from this machine: `names` is the name server, `inside` the cluster's DNS."""

    transport: Transport
    kubeconfig: str
    names: str = ""
    inside: str = ""

    async def check(self, check: Check) -> Outcome:
        try:
            if check.dig:
                return await self._dig(check)
            return await (self._curl(check) if check.curl else self._read(check))
        except NotYet as error:
            return Outcome(False, str(error))
        except (
            OSError,
            TimeoutError,
            aiohttp.ClientError,
            NoAnswerError,
            dns.exception.DNSException,
            Malformed,
        ) as error:
            return Outcome(False, str(error) or type(error).__name__)

    # ---- HTTP

    async def _curl(self, check: Check) -> Outcome:
        host, port = await self._place(check.curl)
        address, shown = await self._address(host), check.host or host
        url = f"http://{address}:{port}{check.path}"
        command = f"curl {url}" if shown == address else f"curl -H 'Host: {shown}' {url}"
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers={"Host": shown}) as response,
        ):
            text = (await read_body(response.content.iter_any(), LARGEST)).decode(errors="replace")
        missing = [message for message in check.contains if message not in text]
        good = response.status == 200 and not missing
        message = f"{response.status} {response.reason}" + (f", without {missing[0]!r}" if missing else "")
        return Outcome(good, message, command)

    async def _place(self, target: str) -> tuple[str, int]:
        kind, _, name = target.partition(" ")
        if not name:
            host, port = _address_in(target)
            return f"{host}{INSIDE}", port
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
        return _address_in(endpoint)

    async def _gateway(self, key: Key) -> tuple[str, int]:
        """At the Service in front of it, or at its own address."""
        query = {"labelSelector": f"{OF_GATEWAY}={key.name}"}
        for item in (await self._object(SERVICE.path(key.namespace), query)).get("items") or ():
            return _ingress(item, f"gateway {key}")
        gateway = await self._object(GATEWAYS.path(*key))
        for address in (gateway.get("status") or {}).get("addresses") or ():
            return address["value"], gateway["spec"]["listeners"][0]["port"]
        raise NotYet(f"gateway {key} has no address yet")

    async def _address(self, host: str) -> str:
        server = self.inside if host.endswith(INSIDE) else self.names
        return (await Resolver(server).lookup(host))[0]

    # ---- DNS and objects

    async def _dig(self, check: Check) -> Outcome:
        name, _, type_ = check.dig.partition(" ")
        host, _, port = self.names.rpartition(":")
        query = dns.message.make_query(name, type_ or "A")
        answer = await cancellable(dns.asyncquery.udp(query, host, port=int(port), timeout=PATIENCE))
        found = sorted(rdata.to_text() for rrset in answer.answer for rdata in rrset)
        good = bool(found) and all(message in found for message in check.contains)
        command = f"dig @{host} -p {port} +short {name} {type_ or 'A'}"
        return Outcome(good, ", ".join(found) or "no answer", command)

    async def _read(self, check: Check) -> Outcome:
        kind, _, name = check.read.partition(" ")
        resource, key = named(kind), Key(*name.split("/", 1))
        text = msgspec.json.encode(await self._object(resource.path(*key))).decode()
        missing = [message for message in check.contains if message not in text]
        command = f"kubectl --kubeconfig {self.kubeconfig} get {kind} {key.name} -n {key.namespace} -o yaml"
        return Outcome(not missing, f"without {missing[0]!r}" if missing else "found", command)

    async def _object(self, path: ApiPath, query: dict[str, str] | None = None) -> Raw:
        answer = await self.transport.send(HttpRequest("GET", path, query or {}))
        if answer.status == 404:
            raise NotYet("not found yet")
        if answer.status != 200:
            raise UserError(f"the API server answered {answer.status} to {path}")
        found: Raw = msgspec.json.decode(answer.body)
        return found


def _address_in(url: str) -> tuple[str, int]:
    try:
        found = upstream(url)
    except BadUrl as error:
        raise NotYet(str(error)) from None
    return found.host, found.port


def _ingress(service: Raw, target: str) -> tuple[str, int]:
    """The first address in a load balancer's status, with its port."""
    for ingress in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
        host = ingress.get("ip") or ingress.get("hostname")
        ports = ingress.get("ports") or service["spec"]["ports"]
        return host, ports[0]["port"]
    raise NotYet(f"{target} has no address yet")
