"""What an agent asks for in a bind, read into an endpoint; and what this edge can't do, refused by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from seamark.core.clock import timestamp
from seamark.edge.errors import Refusal, invalid
from seamark.edge.ids import new_id
from seamark.edge.policy import Policy, Ranges, parse_policy, parse_ranges
from seamark.edge.registry import Agent, Entry
from seamark.edge.urls import EndpointUrl, binding_of, parse_url
from seamark.wire.tunnel import Bind, BindAnswer, BindAnswerExtra

PROTOCOLS = ("tcp", "tls", "http", "https")

# Options of the agents that would change traffic. Ignoring one of them would be a lie to who set it.
UNSUPPORTED = (
    "Auth",
    "BasicAuth",
    "CircuitBreaker",
    "Compression",
    "MutualTLSAtAgent",
    "MutualTLSAtEdge",
    "MutualTLSCA",
    "OAuth",
    "OIDC",
    "RequestHeaders",
    "ResponseHeaders",
    "UserAgentFilter",
    "WebhookVerification",
    "WebsocketTCPConverter",
)
_WORD = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A bind request, understood. `url` is None where the edge is to choose."""

    url: EndpointUrl | None
    binding: str
    policy: Policy
    ranges: Ranges
    proxy_version: int
    terminate: bool


def read_bind(bind: Bind, domain: str, port: int) -> Wanted:
    """The endpoint that is asked for. `domain` completes subdomains, `port` is the public one of the scheme."""
    if bind.proto not in PROTOCOLS:
        raise Refusal(9437, f"{bind.proto[:50]!r} is no protocol of this edge: {', '.join(PROTOCOLS)} are")
    for name in UNSUPPORTED:
        if bind.opts.get(name):
            raise Refusal(9437, f"the option {name} is none that this edge can carry out")
    policy = _policy(bind.opts)
    url = _url(bind, domain, port)
    binding = binding_of(url, bind.extra.bindings) if url else _binding(bind)
    return Wanted(
        url,
        binding,
        policy,
        _ranges(bind.opts.get("IPRestriction")),
        _proxy_version(bind.opts.get("ProxyProto")),
        terminate=bind.proto == "https" or bool(bind.opts.get("TLSTermination")) or policy.terminates is not None,
    )


def _binding(bind: Bind) -> str:
    if any(binding != "public" for binding in bind.extra.bindings or ()):
        raise invalid("an endpoint with this binding needs a URL")
    return "public"


def _url(bind: Bind, domain: str, port: int) -> EndpointUrl | None:
    opts = bind.opts
    text = _text(opts, "URL")
    if text and "://" not in text:
        text = f"{bind.proto}://{text}"
    if not text and bind.proto == "tcp":
        text = f"tcp://{address}" if (address := _text(opts, "Addr")) else ""
    elif not text:
        host = _text(opts, "Domain") or _text(opts, "Hostname")
        if not host and (subdomain := _text(opts, "Subdomain")):
            host = f"{subdomain}.{domain}"
        text = f"{bind.proto}://{host}" if host else ""
    if not text or text.endswith("://"):
        return None
    url = parse_url(text)
    if url.scheme != bind.proto:
        raise invalid(f"{url} is no URL for the protocol {bind.proto}")
    if url.scheme != "tcp" and not url.internal and "kubernetes" not in (bind.extra.bindings or ()):
        url = EndpointUrl(url.scheme, url.host, port)  # there is one public port a scheme
    return url


def _text(opts: dict[str, Any], name: str) -> str:
    value = opts.get(name) or ""
    if not isinstance(value, str):
        raise invalid(f"the option {name} is no text")
    return value


def _policy(opts: dict[str, Any]) -> Policy:
    text = opts.get("TrafficPolicy") or opts.get("Policy") or ""
    return parse_policy(text if isinstance(text, str) else msgspec.json.encode(text).decode())


def _ranges(restriction: Any) -> Ranges:
    if not restriction:
        return Ranges()
    if not isinstance(restriction, dict):
        raise invalid("the option IPRestriction is no object")
    fields = {name.lower().replace("_", ""): value or [] for name, value in restriction.items()}
    if unknown := set(fields) - {"allowcidrs", "denycidrs"}:
        raise Refusal(9437, f"the option IPRestriction with {sorted(unknown)} is none that this edge can carry out")
    return parse_ranges(fields.get("allowcidrs", ()), fields.get("denycidrs", ()))


def _proxy_version(value: Any) -> int:
    version = {None: 0, "": 0, 0: 0, 1: 1, 2: 2, "1": 1, "2": 2}.get(value)
    if version is None:
        raise invalid(f"{value!r} is no version of the PROXY protocol: 1 and 2 are")
    return version


def is_private(message: Bind) -> bool:
    """Whether the request is for an endpoint that no public listener serves."""
    url = message.opts.get("URL") or message.opts.get("Domain") or message.opts.get("Hostname") or ""
    return "kubernetes" in (message.extra.bindings or ()) or ".internal" in str(url)


def labelled_url(labels: dict[str, str]) -> EndpointUrl:
    """The place of a labelled tunnel: tcp://<value>.<name>.labels.internal:1, names in their order."""
    words = [word.lower() for name, value in sorted(labels.items()) for word in (value, name)]
    for word in words:
        if not _WORD.fullmatch(word):
            raise invalid(f"the label {word[:100]!r}: names and values are letters, digits and dashes, at most 63")
    if not words:
        raise invalid("a labelled tunnel needs labels")
    return parse_url(f"tcp://{'.'.join(words)}.labels.internal:1")


def entry_of(agent: Agent, credential: str, message: Bind, wanted: Wanted, url: EndpointUrl) -> Entry:
    """The endpoint as it will be online."""
    return Entry(
        id=new_id("ep"),
        url=url,
        binding=wanted.binding,
        created=timestamp(datetime.now(UTC)),
        agent=agent,
        bind_id=message.id[:100] or new_id("tn"),
        credential=credential,
        pooling=bool(message.extra.pooling_enabled),
        policy=wanted.policy,
        ranges=wanted.ranges,
        proxy_version=wanted.proxy_version,
        terminate=wanted.terminate,
        metadata=message.extra.metadata[:4096],
        description=message.extra.description[:255],
        forwards_to=message.forwards_to[:1024],
        forwards_proto=message.forwards_proto[:16],
        name=message.extra.name[:512],
        generation=message.extra.generation or 0,
    )


def answer_of(entry: Entry, message: Bind) -> BindAnswer:
    """What the agent is told: its options back, and the place that it got."""
    url, host = str(entry.url), entry.url.host
    place = {"Addr": entry.url.hostport} if message.proto == "tcp" else {"Hostname": host, "Domain": host}
    return BindAnswer(
        id=entry.bind_id,
        url=url,
        proto=message.proto,
        opts={**message.opts, **place, "URL": url},
        extra=BindAnswerExtra(token=entry.bind_token),
    )
