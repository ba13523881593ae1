"""What an agent asks for in a bind, read into an endpoint; and what this edge can't do, refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from seamark_edge.edge.errors import Refusal, invalid
from seamark_edge.edge.ids import new_id
from seamark_edge.edge.policy import Policy, Ranges, parse_ranges
from seamark_edge.edge.registry import Agent, Entry
from seamark_edge.edge.urls import EndpointUrl, binding_of, parse_url
from seamark_edge.wire.tunnel import Bind, BindAnswer, BindAnswerExtra
from seamark_runtime.clock import timestamp
from seamark_runtime.untrusted.patterns import Pattern

PROTOCOLS = ("tcp", "tls", "http", "https")
MAX_METADATA = 4096  # bytes
MAX_RANGES = 256  # of one list: all of them are asked for each connection

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
_LABEL = Pattern(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PROXY_VERSIONS = {"": 0, "0": 0, "1": 1, "2": 2}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A bind request, understood. `url` is None where the edge is to choose."""

    url: EndpointUrl | None
    binding: str
    policy: Policy
    ranges: Ranges
    proxy_version: int
    terminate: bool


def read_bind(bind: Bind, policy: Policy, domain: str, public_port: Callable[[str], int]) -> Wanted:
    """The endpoint that is asked for, with this policy. `domain` completes subdomains, `public_port` is per scheme."""
    if bind.proto not in PROTOCOLS:
        raise Refusal(9437, f"{bind.proto[:50]!r} is no protocol of this edge: {', '.join(PROTOCOLS)} are")
    for name in UNSUPPORTED:
        if bind.opts.get(name):
            raise Refusal(9437, f"the option {name} is none that this edge can carry out")
    url = _url(bind, domain)
    binding = binding_of(url, bind.extra.bindings) if url else _binding(bind)
    if url is not None and binding == "public" and url.scheme != "tcp":
        url = EndpointUrl(url.scheme, url.host, public_port(url.scheme))  # there is one public port a scheme
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


def _url(bind: Bind, domain: str) -> EndpointUrl | None:
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
    return url


def _text(opts: dict[str, Any], name: str) -> str:
    value = opts.get(name) or ""
    if not isinstance(value, str):
        raise invalid(f"the option {name} is no text")
    return value


def policy_of(bind: Bind) -> Any:
    """The traffic policy as the agent sent it: a text, or an object."""
    return bind.opts.get("TrafficPolicy") or bind.opts.get("Policy") or ""


def _ranges(restriction: Any) -> Ranges:
    if not restriction:
        return Ranges()
    if not isinstance(restriction, dict):
        raise invalid("the option IPRestriction is no object")
    fields = {name.lower().replace("_", ""): value or [] for name, value in restriction.items()}
    if unknown := set(fields) - {"allowcidrs", "denycidrs"}:
        named = ", ".join(sorted(unknown))[:100]
        raise Refusal(9437, f"the option IPRestriction with {named} is none that this edge can carry out")
    for name, value in fields.items():
        if not isinstance(value, list) or len(value) > MAX_RANGES:
            raise invalid(f"the option IPRestriction: {name} is no list of at most {MAX_RANGES} CIDRs")
    return parse_ranges(fields.get("allowcidrs", ()), fields.get("denycidrs", ()))


def _proxy_version(value: Any) -> int:
    text = str(value) if type(value) is int else value or ""
    version = _PROXY_VERSIONS.get(text) if isinstance(text, str) else None
    if version is None:
        raise invalid("the option ProxyProto is no version of the PROXY protocol: 1 and 2 are")
    return version


def labelled_url(labels: dict[str, str]) -> EndpointUrl:
    """The place of a labelled tunnel: tcp://<value>.<name>.labels.internal:1, names in their order."""
    labels_in_order = [label.lower() for name, value in sorted(labels.items()) for label in (value, name)]
    for label in labels_in_order:
        if not _LABEL.fullmatch(label):
            raise invalid(f"the label {label[:100]!r}: names and values are letters, digits and dashes, at most 63")
    if not labels_in_order:
        raise invalid("a labelled tunnel needs labels")
    return parse_url(f"tcp://{'.'.join(labels_in_order)}.labels.internal:1")


def checked_metadata(text: str) -> str:
    """The text, if it is short enough to be kept and shown: the same limit for sessions, endpoints and the API."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_METADATA:
        raise invalid(f"metadata of more than {MAX_METADATA} bytes")
    return text


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
        metadata=checked_metadata(message.extra.metadata),
        description=message.extra.description[:255],
        forwards_to=message.forwards_to[:1024],
        forwards_proto=message.forwards_proto[:16],
        name=message.extra.name[:512],
        generation=message.extra.generation or 0,
    )


def answer_of(entry: Entry, message: Bind) -> BindAnswer:
    """The response to the agent: its options, and the place that it got."""
    url, host = str(entry.url), entry.url.host
    place = {"Addr": entry.url.hostport} if message.proto == "tcp" else {"Hostname": host, "Domain": host}
    return BindAnswer(
        id=entry.bind_id,
        url=url,
        proto=message.proto,
        opts={**message.opts, **place, "URL": url},
        extra=BindAnswerExtra(token=entry.bind_token),
    )
