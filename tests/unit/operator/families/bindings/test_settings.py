"""Invalid settings are reported."""

from __future__ import annotations

import pytest

from seamark.families.bindings.family import configured
from seamark.families.bindings.settings import BindingsSettings, edge_of, options_of, port_range
from seamark_runtime.errors import UserError


@pytest.mark.parametrize("text", ["", "10000", "20000-10000", "0-10", "1-70000", "a-b"])
def test_a_range_that_is_none_is_told(text: str) -> None:
    with pytest.raises(UserError, match="bindings_ports"):
        port_range(text)


def test_an_edge_without_a_key_is_told() -> None:
    with pytest.raises(UserError, match="no key to the edge"):
        edge_of(BindingsSettings(bindings_edge="seamark"))


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(UserError, match="bindings_edge_ca: /nowhere"):
        options_of(BindingsSettings(bindings_edge_ca="/nowhere"))


def test_settings_become_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMARK_BINDINGS_PORTS", "nonsense")
    with pytest.raises(UserError, match="bindings_ports"):
        configured()
    given = BindingsSettings(bindings_allowed_namespaces=("shop",), bindings_ports="20000-20009")
    options = options_of(given)
    assert (options.first_port, options.last_port) == (20000, 20009)
    assert options.allows("shop")
    assert not options.allows("other")
