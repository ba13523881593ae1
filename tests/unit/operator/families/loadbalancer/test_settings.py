"""Settings: which edge, and what is wrong with the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark.families.loadbalancer.settings import LoadBalancerSettings, key_of, loaded, options_of, provider_of
from seamark_runtime.errors import UserError


@pytest.mark.parametrize("provider", ["seamark", "ngrok", "memory"])
def test_every_provider_can_be_chosen(provider: str) -> None:
    made = provider_of(LoadBalancerSettings(lb_provider=provider, lb_api_key="k", lb_requests_per_minute=5000))
    assert made.capabilities.name == provider


def test_a_provider_that_is_none() -> None:
    with pytest.raises(UserError, match="there are seamark, ngrok, memory"):
        provider_of(LoadBalancerSettings(lb_provider="zorp"))


def test_the_key_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    assert key_of(LoadBalancerSettings(lb_api_key_file=str(tmp_path / "key"))) == "secret"
    with pytest.raises(UserError, match="lb_api_key_file"):
        key_of(LoadBalancerSettings(lb_api_key_file=str(tmp_path / "none")))


def test_what_is_left_at_the_edge_is_swept_by_default() -> None:
    unnamed, named = options_of(LoadBalancerSettings()), options_of(LoadBalancerSettings(lb_cluster="east"))
    assert (unnamed.sweep, unnamed.named) == (600.0, False)
    assert (named.sweep, named.named) == (600.0, True)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMARK_LB_CLASS", "mine")
    monkeypatch.setenv("SEAMARK_LB_DRAIN", "Retain")
    options = options_of(loaded())
    assert (options.lb_class, options.drain) == ("mine", "Retain")
    monkeypatch.setenv("SEAMARK_LB_DRAIN", "perhaps")
    with pytest.raises(UserError, match="lb_drain"):
        loaded()
