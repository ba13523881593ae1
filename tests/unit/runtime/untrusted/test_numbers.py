"""Numbers in untrusted text: ASCII digits within limits, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from seamark_runtime.untrusted.numbers import InvalidNumber, integer, version_numbers
from tests.sources import modules

FOLDERS = ("seamark/families/", "seamark/providers/", "seamark_edge/agent/", "seamark_edge/dataplane/")

# Where `int` or `float` is called in families and providers, and why that is not tenant text.
ALLOWED = {
    "seamark/families/dns/sources/annotations.py": "groups of a pattern that takes at most ten ASCII digits",
    "seamark/families/gateway/values/durations.py": "groups of a pattern that takes at most ten ASCII digits",
    "seamark/families/gateway/infrastructure/envoys.py": "the port of our own xDS address, from the settings",
    "seamark/families/score/remote.py": "a status code, checked to be three digits",
    "seamark/families/score/rendering/pods.py": "an octal mode, which the schema of a Workload limits to four digits",
    "seamark/families/score/platform/selection.py": "versions of backends, limited to nine digits by the schema",
    "seamark_edge/dataplane/envoy/state.py": "names of folders of /proc",
    "seamark_edge/dataplane/envoy/binary.py": "groups of a pattern that takes at most six ASCII digits",
    "seamark_edge/dataplane/envoyfilters/messages.py": "a float of our own model",
    "seamark/providers/dns/transfer.py": "the serial of a parsed SOA record",
    "seamark_edge/agent/agent.py": "settings of the agent",
    "seamark_edge/agent/metrics.py": "a boolean of our own",
    "seamark_edge/agent/wanted.py": "an enumeration of the schema",
    "seamark/providers/dns/webhook_client.py": "a number that was read by `integer`",
    "seamark/providers/edge/rest.py": "a number that was read by `integer`",
}


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("65535", 65535), ("007", 7), ("0" * 100_000 + "7", 7)], ids=lambda one: str(one)[:9]
)
def test_a_number_within_its_limits_is_read(text: str, value: int) -> None:
    assert integer(text, 0, 65535) == value


def test_a_minus_sign_counts_where_the_minimum_allows_it() -> None:
    assert integer("-5", -10, 10) == -5
    with pytest.raises(InvalidNumber):
        integer("-5", 0, 10)


@pytest.mark.parametrize(
    "text",
    ["", "-", "--1", "+1", " 1", "1 ", "1_000", "1.0", "1e3", "0x10", "١٢", "²", "65536", "9" * 5_000, "9" * 100_000],
    ids=lambda text: ascii(text[:9]),
)
def test_anything_else_is_refused_with_the_limits(text: str) -> None:
    with pytest.raises(InvalidNumber, match="is not a whole number from 0 to 65535") as refused:
        integer(text, 0, 65535)
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize(
    ("version", "numbers"), [("v1.6.1-rc.2", (1, 6, 1)), ("", ()), ("none", ()), ("9" * 5_000, (999_999_999,) * 3)]
)
def test_versions_are_compared_by_three_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(version) == numbers


def conversions(path: Path) -> list[int]:
    """The lines that call int(...) or float(...), float("inf") and the like aside."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("int", "float")
        and not (isinstance(node.args[0], ast.Constant) and node.args[0].value in ("inf", "-inf"))
    ]


def test_families_and_providers_convert_no_tenant_text_themselves() -> None:
    files = [(name, path) for name, path in modules("seamark", "seamark_edge") if name.startswith(FOLDERS)]
    found = {name: lines for name, path in files if (lines := conversions(path))}
    assert set(found) == set(ALLOWED), "use seamark_runtime.untrusted.numbers.integer, or say why it is not tenant text"
