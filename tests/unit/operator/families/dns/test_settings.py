"""Settings of the family: what users set, and the errors when it is wrong."""

from __future__ import annotations

from functools import partial

import pytest

from seamark.families.dns.model.rules import Policy
from seamark.families.dns.settings import DnsSettings, options_of, provider_of, rules_of, server_of
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark.providers.dns.webhook import WebhookProvider
from seamark_runtime.errors import UserError
from seamark_runtime.settings import load


def test_server_and_zones_are_read_from_the_environment() -> None:
    given = {
        "SEAMARK_DNS_PROVIDER": "rfc2136",
        "SEAMARK_DNS_ZONES": "Example.org.,other.test",
        "SEAMARK_DNS_SERVER": "192.0.2.1:5353",
        "SEAMARK_DNS_TSIG_NAME": "key",
        "SEAMARK_DNS_TSIG_SECRET": "c2VjcmV0",
        "SEAMARK_DNS_POLICY": "upsert-only",
        "SEAMARK_DNS_TXT_OWNER_ID": "me",
    }
    settings = load(DnsSettings, environment=given, flags={})
    provider = provider_of(settings)
    assert isinstance(provider, Rfc2136Provider)
    assert provider.zones == ("example.org", "other.test")
    server = server_of(settings)
    assert (server.host, server.port) == ("192.0.2.1", 5353)
    assert "c2VjcmV0" not in repr(server)
    rules = rules_of(settings, provider)
    assert (rules.policy, rules.owner, rules.set_identifiers) == (Policy.UPSERT_ONLY, "me", False)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("192.0.2.1", "192.0.2.1", 53), ("[2001:db8::1]:5353", "2001:db8::1", 5353), ("2001:db8::1", "2001:db8::1", 53)],
)
def test_a_servers_address_may_have_a_port(text: str, host: str, port: int) -> None:
    server = server_of(DnsSettings(dns_server=text))
    assert (server.host, server.port) == (host, port)


def test_other_providers() -> None:
    assert isinstance(provider_of(DnsSettings(dns_provider="memory")), MemoryProvider)
    assert isinstance(provider_of(DnsSettings(dns_provider="webhook")), WebhookProvider)


memory = partial(DnsSettings, dns_provider="memory")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (DnsSettings(), "no DNS provider is chosen .*: rfc2136 .*, webhook .*, or memory"),
        (DnsSettings(dns_provider="route53"), "no DNS provider 'route53'"),
        (DnsSettings(dns_provider="rfc2136", dns_name_servers=("a:b",)), "dns_name_servers: a:b is not an address"),
        (memory(dns_zones=("a b",)), "dns_zones: a zone has the label 'a b'"),
        (memory(dns_txt_prefix="a", dns_txt_suffix="b"), "exclude each other"),
        (memory(dns_txt_encrypt_key="short"), "32 bytes"),
        (
            DnsSettings(dns_provider="memory", dns_txt_owner_id="me,you"),
            "dns_txt_owner_id: the value of .owner. must be printable ASCII",
        ),
        (
            DnsSettings(dns_provider="memory", dns_exclude_domains=(r"secret\.example.org",)),
            "dns_exclude_domains: .* has the label",
        ),
        (
            DnsSettings(dns_provider="memory", dns_domain_filter=("a..b",)),
            "dns_domain_filter: 'a..b' has an empty label",
        ),
        (
            DnsSettings(dns_provider="memory", dns_regex_domain_exclusion="("),
            "dns_regex_domain_exclusion: is not a valid pattern",
        ),
        (memory(dns_regex_domain_filter="bücher"), "dns_regex_domain_filter: .* in ASCII"),
        (
            DnsSettings(dns_provider="memory", dns_txt_prefix="a b-"),
            "an ownership record is 'a b-a-www.example.org', which has the label",
        ),
        (memory(dns_txt_prefix="ü-"), "as 'xn--"),
        (memory(dns_policy="everything"), "everything"),
        (memory(dns_managed_record_types=("A", "SPF")), "SPF"),
        (memory(dns_sources=()), "dns_sources: there is none"),
        (memory(dns_sources=("pod",)), "dns_sources: pod"),
        (DnsSettings(dns_provider="rfc2136", dns_server="host:port"), "is not an address"),
        (DnsSettings(dns_provider="rfc2136", dns_tsig_name="k", dns_tsig_algorithm="md5"), "hmac-sha256"),
    ],
)
def test_what_is_wrong_is_an_error(settings: DnsSettings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        rules_of(settings, provider_of(settings))


def test_a_call_to_a_webhook_provider_may_take_as_long_as_its_requests() -> None:
    settings = load(
        DnsSettings,
        environment={"SEAMARK_DNS_PROVIDER": "webhook", "SEAMARK_DNS_WEBHOOK_READ_TIMEOUT": "100"},
        flags={},
    )
    intervals = options_of(settings, provider_of(settings)).intervals
    assert intervals.reading > 100
    assert intervals.updating > 2 * 100 + settings.dns_webhook_write_timeout
