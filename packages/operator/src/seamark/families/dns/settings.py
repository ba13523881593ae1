"""How the DNS family runs: `SEAMARK_DNS_…` in the environment, or a file that `SEAMARK_DNS_SETTINGS` names."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta

from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Policy, Rules
from seamark.families.dns.model.selector import InvalidSelector, Selector
from seamark.families.dns.sources.kinds import SOURCES
from seamark.providers.dns.authority import Authority
from seamark.providers.dns.domains import Domains, InvalidFilter
from seamark.providers.dns.link import ALGORITHMS, Server, TsigKey, tls_context
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Provider
from seamark.providers.dns.querying import NameServers
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark.providers.dns.server import ServedMemory
from seamark.providers.dns.txt import OWNER, TYPES, BadAffix, Names, Values, key_from, label_problem
from seamark.providers.dns.webhook import WebhookProvider
from seamark_runtime.errors import UserError
from seamark_runtime.settings import load
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

Many = tuple[str, ...]
THERE_ARE = (
    "choose one with SEAMARK_DNS_PROVIDER or --provider: rfc2136 (a name server), webhook (a provider of ExternalDNS), "
    "or memory (no name server at all, for trying it out)"
)
MOST_MESSAGES = 20  # of changes to a webhook provider in one call; what is left is for the next
AS_IN = "as in 192.0.2.1:5353 or [2001:db8::1]:53"


class DnsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which records are served where, and under whose name."""

    dns_provider: Annotated[str, Meta(description="memory, rfc2136 or webhook; there is no default")] = ""
    dns_memory_address: Annotated[
        str, Meta(description="Where the memory provider answers questions (UDP and TCP), as HOST:PORT; empty: nowhere")
    ] = ""
    dns_webhook_url: Annotated[str, Meta(description="Where the webhook provider is")] = "http://127.0.0.1:8888"
    dns_webhook_read_timeout: Annotated[
        float, Meta(description="Seconds that an answer of the webhook provider may take, its records included", gt=0)
    ] = 60.0
    dns_webhook_write_timeout: Annotated[
        float, Meta(description="Seconds that the webhook provider may take for one message of changes", gt=0)
    ] = 60.0
    dns_webhook_largest_answer: Annotated[
        int, Meta(description="Bytes of the largest answer that is read from the webhook provider", gt=0)
    ] = 64 * 1024 * 1024
    dns_sources: Annotated[
        Many,
        Meta(description="What has names: crd, service, ingress, gateway, httproute, grpcroute, tlsroute, tcproute"),
    ] = ("crd",)
    dns_objects: Annotated[
        bool,
        Meta(description="The names of other sources become DNSEndpoints, whose status shows whether they are served"),
    ] = False
    dns_zones: Annotated[Many, Meta(description="The zones that are served")] = ()
    dns_server: Annotated[str, Meta(description="The name server's address, with a port if it is not 53")] = "127.0.0.1"
    dns_name_servers: Annotated[
        Many,
        Meta(
            description="Where the authoritative name servers are asked whether they answer the records, as HOST or "
            "HOST:PORT; empty: those of the zone's NS records, and dns_server"
        ),
    ] = ()
    dns_tls: Annotated[bool, Meta(description="Speak TLS with the name server")] = False
    dns_tls_ca: Annotated[str, Meta(description="A file of certificates to trust; empty for the system's")] = ""
    dns_tsig_name: Annotated[str, Meta(description="The name of the TSIG key; empty for none")] = ""
    dns_tsig_secret: Annotated[str, Meta(description="Its secret, in base64")] = ""
    dns_tsig_algorithm: Annotated[str, Meta(description="One of " + ", ".join(ALGORITHMS))] = "hmac-sha256"
    dns_request_timeout: Annotated[float, Meta(description="Seconds to wait for the name server", gt=0)] = 10.0
    dns_transfer_timeout: Annotated[
        float, Meta(description="Seconds that the name server may take to transfer a zone", gt=0)
    ] = 60.0
    dns_largest_zone: Annotated[
        int,
        Meta(
            description="Records of the largest zone that is read from the name server; a record of more than 96 bytes "
            "counts as several. 100,000 take about 150 MB",
            gt=0,
        ),
    ] = 100_000
    dns_registry: Annotated[str, Meta(description="txt or noop", pattern="^(txt|noop)$")] = "txt"
    dns_txt_owner_id: Annotated[str, Meta(description="Who we are in ownership records")] = "default"
    dns_txt_prefix: Annotated[str, Meta(description="In front of the name of an ownership record")] = ""
    dns_txt_suffix: Annotated[str, Meta(description="Behind the first label of an ownership record's name")] = ""
    dns_txt_wildcard_replacement: Annotated[str, Meta(description="What stands for * in an ownership record")] = ""
    dns_txt_encrypt_key: Annotated[str, Meta(description="Encrypts ownership records: an AES-256 key")] = ""
    dns_migrate_from_txt_owners: Annotated[Many, Meta(description="Owners whose records become ours")] = ()
    dns_policy: Annotated[str, Meta(description="sync, upsert-only or create-only")] = "sync"
    dns_managed_record_types: Annotated[Many, Meta(description="Which record types are served")] = (
        "A",
        "AAAA",
        "CNAME",
    )
    dns_domain_filter: Annotated[Many, Meta(description="Only names in these domains")] = ()
    dns_exclude_domains: Annotated[Many, Meta(description="No names in these domains")] = ()
    dns_regex_domain_filter: Annotated[str, Meta(description="Only names that match; in place of the lists")] = ""
    dns_regex_domain_exclusion: Annotated[str, Meta(description="No names that match")] = ""
    dns_label_filter: Annotated[str, Meta(description="Only objects with these labels, as in a=b,c!=d,e in (f,g)")] = ""
    dns_annotation_filter: Annotated[str, Meta(description="Only objects with these annotations")] = ""
    dns_namespace: Annotated[str, Meta(description="Only objects of this namespace; empty for all")] = ""
    dns_shared_names: Annotated[
        bool, Meta(description="Objects of several namespaces may share one name, as with ExternalDNS")
    ] = False
    dns_update_status: Annotated[bool, Meta(description="Write the status of DNSEndpoints")] = True
    dns_create_ptr: Annotated[
        bool, Meta(description="A PTR record for each address of a Service, Ingress, Gateway or route")
    ] = False
    dns_empty_deletes: Annotated[
        bool, Meta(description="Delete leftovers also of a source that has had no object since the start")
    ] = False
    dns_sweep_grace: Annotated[
        float, Meta(description="Seconds for which records stay whose object is gone without a deletion", ge=0)
    ] = 60.0
    dns_min_ttl: Annotated[int, Meta(description="The least TTL of a record that has one", ge=0)] = 0
    dns_default_ttl: Annotated[int, Meta(description="The TTL of a record that has none", ge=1)] = 300
    dns_interval: Annotated[float, Meta(description="Least seconds between two syncs of a zone", ge=0)] = 0.5
    dns_poll: Annotated[float, Meta(description="Seconds between two looks at a zone's serial", gt=0)] = 30.0
    dns_shelf_life: Annotated[
        float,
        Meta(
            description="Seconds for which an answer of a name server is valid; it is asked three times as often",
            gt=0,
        ),
    ] = 120.0


def loaded() -> DnsSettings:
    return load(DnsSettings, file=os.environ.get("SEAMARK_DNS_SETTINGS", ""), environment=os.environ, flags={})


def rules_of(settings: DnsSettings, provider: Provider) -> Rules:
    types = frozenset(type_.upper() for type_ in settings.dns_managed_record_types)
    if unknown := types - set(TYPES):
        raise UserError(f"dns_managed_record_types: {', '.join(sorted(unknown))}", hint=f"there are {', '.join(TYPES)}")
    if problem := label_problem(OWNER, settings.dns_txt_owner_id):
        raise UserError(f"dns_txt_owner_id: {problem}")
    try:
        names = Names(settings.dns_txt_prefix, settings.dns_txt_suffix, settings.dns_txt_wildcard_replacement)
        _check_affix(names)
        values = Values(key_from(settings.dns_txt_encrypt_key) if settings.dns_txt_encrypt_key else b"")
        policy = Policy(settings.dns_policy)
    except (BadAffix, ValueError) as error:
        raise UserError(f"the DNS settings are wrong: {error}") from None
    return Rules(
        zones=provider.zones,
        owner=settings.dns_txt_owner_id,
        formerly=settings.dns_migrate_from_txt_owners,
        registry=settings.dns_registry,
        names=names,
        values=values,
        policy=policy,
        types=types,
        domains=domains_of(settings),
        labels=selector_of("dns_label_filter", settings.dns_label_filter),
        annotations=selector_of("dns_annotation_filter", settings.dns_annotation_filter),
        namespace=settings.dns_namespace,
        sources=frozenset(("crd",)) if settings.dns_objects else sources_of(settings),
        objects=objects_of(settings),
        min_ttl=settings.dns_min_ttl,
        set_identifiers=provider.set_identifiers,
        update_status=settings.dns_update_status,
        shared_names=settings.dns_shared_names,
        sweep_grace=settings.dns_sweep_grace,
        create_ptr=settings.dns_create_ptr,
        empty_deletes=settings.dns_empty_deletes,
    )


FILTERS = {
    "include": "dns_domain_filter",
    "exclude": "dns_exclude_domains",
    "regex_include": "dns_regex_domain_filter",
    "regex_exclude": "dns_regex_domain_exclusion",
}


def domains_of(settings: DnsSettings) -> Domains:
    try:
        return Domains(**{name: getattr(settings, setting) for name, setting in FILTERS.items()})
    except InvalidFilter as error:
        raise UserError(f"{FILTERS[error.field_name]}: {error.problem}") from None


def selector_of(setting: str, text: str) -> Selector:
    try:
        return Selector.parse(text)
    except InvalidSelector as error:
        raise UserError(f"{setting}: {error}") from None


def sources_of(settings: DnsSettings) -> frozenset[str]:
    if not settings.dns_sources:
        raise UserError("dns_sources: there is none", hint=f"name one of crd, {', '.join(SOURCES)}")
    if unknown := set(settings.dns_sources) - {"crd", *SOURCES}:
        raise UserError(f"dns_sources: {', '.join(sorted(unknown))}", hint=f"there are crd, {', '.join(SOURCES)}")
    return frozenset(settings.dns_sources)


def _check_affix(names: Names) -> None:
    """A name server shows canonical names: ownership records under any other would never be found again."""
    for type_ in TYPES:
        name = names.of("www.example.org", type_)
        try:
            if canonical_name(name) == name:
                continue
        except InvalidDnsName as error:
            raise BadAffix(f"with the prefix and suffix an ownership record is {name[:80]!r}, which {error}") from None
        raise BadAffix(f"write the prefix and suffix of ownership records as {canonical_name(name)!r} has them")


def objects_of(settings: DnsSettings) -> frozenset[str]:
    if not settings.dns_objects:
        return frozenset()
    if settings.dns_annotation_filter:
        hint = "use dns_label_filter: labels are passed on"
        raise UserError("dns_objects: a DNSEndpoint has no annotations of what it was made for", hint=hint)
    return sources_of(settings) - {"crd"}


def options_of(settings: DnsSettings, provider: Provider) -> Options:
    intervals = Intervals(settings.dns_interval, settings.dns_poll, settings.dns_shelf_life)
    return Options(rules_of(settings, provider), replace(intervals, **deadlines_of(settings)))


def deadlines_of(settings: DnsSettings) -> dict[str, float]:
    """The deadlines of whole calls, from those of the requests that they consist of."""
    if settings.dns_provider == "rfc2136":
        reading = settings.dns_transfer_timeout + 10
        return {"reading": reading, "updating": reading + 60}
    if settings.dns_provider != "webhook":
        return {}
    read, write = settings.dns_webhook_read_timeout, settings.dns_webhook_write_timeout
    return {"reading": 2 * read + 10, "updating": 4 * read + MOST_MESSAGES * write}


def provider_of(settings: DnsSettings) -> Provider:
    try:
        zones = tuple(canonical_name(zone) for zone in settings.dns_zones)
    except InvalidDnsName as error:
        raise UserError(f"dns_zones: a zone {error}") from None
    match settings.dns_provider:
        case "":
            raise UserError("no DNS provider is chosen (dns_provider is empty)", hint=THERE_ARE)
        case "memory":
            return memory_of(settings, zones)
        case "rfc2136":
            server = server_of(settings)
            queried = (server.host, 53 if settings.dns_tls else server.port)
            return Rfc2136Provider(
                server, zones, default_ttl=settings.dns_default_ttl, querier=querier_of(settings, queried)
            )
        case "webhook":
            return WebhookProvider(
                settings.dns_webhook_url,
                timeout=settings.dns_webhook_read_timeout,
                write_timeout=settings.dns_webhook_write_timeout,
                largest=settings.dns_webhook_largest_answer,
                querier=querier_of(settings),
            )
        case other:
            raise UserError(f"there is no DNS provider {other!r}", hint=THERE_ARE)


def querier_of(settings: DnsSettings, updated: tuple[str, int] | None = None) -> NameServers:
    named = tuple(_address(text, 53, "dns_name_servers") for text in settings.dns_name_servers)
    return NameServers(Authority(named=named, updated=updated))


def memory_of(settings: DnsSettings, zones: Many) -> MemoryProvider:
    if not settings.dns_memory_address:
        return MemoryProvider(zones)
    return ServedMemory(zones, *_address(settings.dns_memory_address, 53))


def server_of(settings: DnsSettings) -> Server:
    host, port = _address(settings.dns_server, 853 if settings.dns_tls else 53)
    key = None
    if settings.dns_tsig_name:
        if settings.dns_tsig_algorithm not in ALGORITHMS:
            raise UserError(
                f"dns_tsig_algorithm: {settings.dns_tsig_algorithm}", hint=f"one of {', '.join(ALGORITHMS)}"
            )
        key = TsigKey(settings.dns_tsig_name, settings.dns_tsig_secret, settings.dns_tsig_algorithm)
    tls = tls_context(settings.dns_tls_ca) if settings.dns_tls else None
    return Server(
        host, port, key, tls, settings.dns_request_timeout, settings.dns_transfer_timeout, settings.dns_largest_zone
    )


def _address(text: str, port: int, setting: str = "dns_server") -> tuple[str, int]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        found, number = bool(rest), rest.removeprefix(":")
    else:
        host, sign, number = text.rpartition(":")
        found = bool(sign) and ":" not in host
    if not found:
        return host if text.startswith("[") else text, port
    try:
        return host, integer(number, 1, 65535)
    except InvalidNumber:
        raise UserError(f"{setting}: {text} is not an address", hint=AS_IN) from None
