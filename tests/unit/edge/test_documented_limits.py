"""The limits in the edge's guide are those of the code: every row of its two sections is written from the constants."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark_edge.edge import (
    agents,
    binds,
    checking,
    expressions,
    fairshare,
    keypairs,
    policy,
    policy_document,
    registry,
    routing,
    rpc,
    sessions,
)
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.rest import app, base, operators
from seamark_edge.wire import tunnel
from seamark_edge.wire.expressions import FILTER, MAX_COST, POLICY, SELECTOR
from seamark_runtime import guardedhttp, pacing

GUIDE = Path(__file__).parents[3] / "docs/guides/edge.md"
KIB, MIB = 1024, 1024 * 1024
DEFAULT = EdgeSettings()
DOCUMENT = policy_document.DOCUMENT


def section(title: str) -> str:
    return GUIDE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> list[str]:
    """The rows of its tables, without their heads."""
    lines = section(title).splitlines()
    return [line for i, line in enumerate(lines) if line.startswith("| ") and not lines[i + 1].startswith("|---")]


LIMITS = [
    f"`connections_per_source` | {DEFAULT.connections_per_source} |",
    f"`agent_connections_per_source` | {DEFAULT.agent_connections_per_source} |",
    f"`api_connections_per_source` | {DEFAULT.api_connections_per_source} |",
    f"`connections`, `agent_connections`, `api_connections` | {DEFAULT.connections}, {DEFAULT.agent_connections}, "
    f"{DEFAULT.api_connections}; less where the process may open fewer files |",
    f"`unproven_connections` | {DEFAULT.unproven_connections} |",
    f"`head_seconds` | {DEFAULT.head_seconds:g} s |",
    f"`request_seconds` | {DEFAULT.request_seconds:g} s |",
    f"`half_closed_seconds` | {DEFAULT.half_closed_seconds:g} s |",
    f"`idle_seconds` | {DEFAULT.idle_seconds:g} s |",
    f"`requests_per_minute`, `unknown_requests_per_minute` | {DEFAULT.requests_per_minute}, "
    f"{DEFAULT.unknown_requests_per_minute} |",
    f"`sessions_per_token`, `endpoints_per_token` | {DEFAULT.sessions_per_token}, {DEFAULT.endpoints_per_token} |",
    f"`kept_per_token` | {DEFAULT.kept_per_token}, or as many as it had endpoints online at once |",
    f"`agent_requests_per_minute` | {DEFAULT.agent_requests_per_minute} |",
    f"| a message of an agent | {tunnel.MAX_MESSAGE // KIB} KiB and {tunnel.MAX_DEPTH} levels; "
    f"{tunnel.MAX_AUTH // KIB} KiB before it is authenticated |",
    f"| unfinished requests of an agent | {rpc.MAX_PENDING // MIB} MiB together, in {agents.AFTER_AUTH.inbound} "
    f"streams at once; {agents.BEFORE_AUTH.inbound} streams before it is authenticated |",
    f"| an agent before it is authenticated | {agents.BEFORE_AUTH.frames} frames, of known types and on streams that "
    "it opened; then it is disconnected |",
    f"of the agents of one | {sessions.UNPROVEN_SHARE * 100:g} %, {sessions.TOKEN_SHARE * 100:g} % of the time of the "
    "event loop; then it is read later |",
    f"| any input, before others have their turn | {pacing.SLICE * 1000:g} ms for each authtoken, each source of TLS "
    "clients, each HTTP port |",
    f"| a head of an API request | {guardedhttp.MAX_HEAD // KIB} KiB (then 431), 128 fields, 8 KiB for each (then 400) "
    "|",
    f"| a body of an API request | {app.LIMITS.size // MIB} MiB and {app.LIMITS.depth} levels; "
    "bodies are not decompressed |",
    f"of it after its answer | {guardedhttp.MAX_BODY // MIB} MiB; {guardedhttp.MAX_DRAINED // KIB} KiB |",
    f"| `limit` of an API request | 1 to {base.PAGE} |",
    f"| `id`, `url` and `filter` in an API request | {app.MAX_FILTERS} together |",
    f"| `description`, `metadata` | {base.MAX_DESCRIPTION} characters, {binds.MAX_METADATA:,} bytes |",
    f"| an agent that sends nothing | is disconnected after {agents.MOST_SILENCE:g} s at the latest, "
    "whatever heartbeats it announces |",
    f"| a connection | follows {registry.MAX_HOPS} `forward-internal` and looks at {routing.MAX_LOOKED} endpoints |",
    f"| connections that wait for the policies of an authtoken's endpoints | {fairshare.MOST_WAITING:,}, "
    "then closed (`http://` and `https://`: 503) |",
]
POLICY_LIMITS = [
    f"| a policy | {DOCUMENT.size // KIB} KiB, {DOCUMENT.depth} levels, {DOCUMENT.nodes:,} values (YAML aliases "
    f"expanded), no key twice in a mapping; {policy_document.MAX_RULES} rules with {policy_document.MAX_ACTIONS} "
    "actions each |",
    f"| `restrict-ips` | {policy_document.MAX_RANGES:,} CIDRs and {policy_document.MAX_REFERENCES} IP policies "
    "in one policy |",
    "| expressions of a policy, selectors of an operator, filters of a request | "
    f"{expressions.MAX_CONDITIONS}, of {expressions.MAX_CONDITION_TEXT // KIB} KiB together, "
    f"with an estimated cost of {MAX_COST:,} steps together |",
    f"| selectors of an operator | {operators.MAX_SELECTORS} |",
    f"| filters of a request, over all objects of the list | {expressions.LIST_BUDGET:,} steps, then 400 |",
    f"| an expression | {POLICY.limits.length:,} characters, {POLICY.limits.depth} levels, {POLICY.limits.nodes:,} "
    f"nodes, an estimated cost of {POLICY.limits.cost:,} steps, texts of {POLICY.limits.text:,} characters |",
    f"| a certificate and its key | {keypairs.MAX_PEM // KIB} KiB each, {keypairs.MAX_CHAIN} certificates in a chain, "
    f"RSA keys of at most {keypairs.MAX_RSA_BITS:,} bits |",
    "| checks of all of these, per authtoken and per API key | "
    f"{checking.SECONDS_PER_MINUTE:g} s of CPU time in a minute, then 429; the same policy text again costs nothing |",
]


@pytest.mark.parametrize(
    ("title", "limits"), [("Limits", LIMITS), ("Limits of policies and expressions", POLICY_LIMITS)]
)
def test_every_row_of_the_guide_is_what_the_code_holds_to(title: str, limits: list[str]) -> None:
    documented = rows(title)
    assert len(documented) == len(limits)
    for row, limit in zip(documented, limits, strict=True):
        assert row.endswith(limit)


def test_the_budgets_in_the_text_of_the_guide_are_those_of_the_code() -> None:
    text = " ".join(section("Limits of policies and expressions").split())
    assert f"selectors and filters that take more than {expressions.EVALUATION_BUDGET:,} for one object fail" in text
    assert f"the policies of its endpoints take more than {policy.CONNECTION_BUDGET:,} is denied" in text


def test_the_slice_in_the_text_of_the_guide_is_that_of_the_code() -> None:
    assert f"after every {fairshare.SLICE_SECONDS * 1000:g} ms of it" in " ".join(section("Limits").split())


def test_all_languages_have_the_limits_that_the_guide_gives_once() -> None:
    for field in ("length", "depth", "nodes", "cost", "text"):
        assert {getattr(language.limits, field) for language in (POLICY, SELECTOR, FILTER)} == {
            getattr(POLICY.limits, field)
        }
    assert DOCUMENT.unique_keys
