"""Which objects a label or annotation filter selects (docs/spec/dns/dnsendpoint.md, rule 68)."""

from __future__ import annotations

import pytest

from seamark.families.dns.model.selector import InvalidSelector, Selector
from seamark.families.dns.settings import DnsSettings, rules_of
from seamark.providers.dns.memory import MemoryProvider
from seamark_runtime.errors import UserError

LABELS = {"app": "web", "tier": "front", "example.org/team": "a-1"}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app in (web,api)", True),
        ("app in (api)", False),
        ("app in(web)", True),
        ("app notin (web, api)", False),
        ("app notin (api)", True),
        ("absent notin (api)", True),
        ("absent in (api)", False),
        ("absent in (api),app=web", False),
        ("app in (web,api),tier notin (back)", True),
        ("app in (web,api), tier=back", False),
        ("example.org/team in (a-1,b-2)", True),
        ("app, !absent, tier == front, app != api", True),
        ("absent!=x", True),
        ("! app", False),
        ("in in (x)", False),
    ],
)
def test_a_selector_is_read_as_kubernetes_reads_it(text: str, selected: bool) -> None:
    assert Selector.parse(text).match(LABELS) is selected


@pytest.mark.parametrize(
    "text", ["app in web", "app in (web", "app in web)", "app is web", "app=web tier=x", "=web", "(a,b)", "a in ((b))"]
)
def test_what_is_no_selector_is_an_error_and_selects_nothing(text: str) -> None:
    with pytest.raises(InvalidSelector):
        Selector.parse(text)


def test_a_selector_without_end_is_an_error() -> None:
    with pytest.raises(InvalidSelector, match="at most 65536 are allowed"):
        Selector.parse("a," * 40_000)


@pytest.mark.parametrize("setting", ["dns_label_filter", "dns_annotation_filter"])
def test_the_setting_is_named(setting: str) -> None:
    settings = DnsSettings(**{setting: "app in web"})  # type: ignore[arg-type]  # a text
    with pytest.raises(UserError, match=f"{setting}: 'app in web' is not a requirement such as"):
        rules_of(settings, MemoryProvider(("example.org",)))
