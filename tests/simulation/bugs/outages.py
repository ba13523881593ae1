"""What is published is removed, or kept, for the wrong reason when those who know do not answer, or answer wrongly."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model import upstreams
from seamark.families.loadbalancer.model.conditions import is_true
from seamark.families.loadbalancer.model.upstreams import Dial
from seamark.families.loadbalancer.remote import Remote
from seamark.families.loadbalancer.service import addresses
from seamark.providers.edge.remote import RemoteEdge, _upstream
from seamark_edge.model import Upstream
from seamark_runtime.api.meta import Condition
from seamark_runtime.calls import Failed
from seamark_runtime.conditions import ConditionType
from seamark_runtime.errors import Retry
from seamark_runtime.source import Stale
from tests.simulation.bugs.bug import Bugs, swap

LOADBALANCER = "loadbalancer/0/calm/"  # its acts include an outage of hours with a restart in it
BUGS = Bugs("stale or unobserved state")


@BUGS.bug(
    "an outage empties a status", "an address is shown only while its Domain is confirmed", "loadbalancer/0/calm/"
)
def an_outage_empties_a_status() -> None:
    def reserved(domain: Domain) -> bool:
        return is_true(domain, "DomainCreated")

    swap(addresses.reserved, reserved)


@BUGS.bug("silence counts as reachable", "an upstream is reachable until an answer says otherwise", LOADBALANCER)
def silence_counts_as_reachable() -> None:
    original = upstreams.upstream_as

    def upstream_as(created: Condition, answer: upstreams.Answer | None) -> Condition:
        if isinstance(answer, Stale | Failed) or (created.status, created.reason) == ("Unknown", "NotVerified"):
            return upstreams.UPSTREAM_REACHABLE.true("UpstreamReachable")
        return original(created, answer)

    swap(original, upstream_as)


@BUGS.bug("an old answer again and again", "what an edge answered before it was silent counts as new", LOADBALANCER)
def an_old_answer_again() -> None:
    original = Remote._dial
    answers: dict[Dial, Upstream] = {}

    async def dial(self: Remote, action: Dial) -> Upstream:
        with suppress(TimeoutError, Retry):
            async with asyncio.timeout(1.0):
                answers[action] = await original(self, action)
        return answers[action]

    swap(Remote._dial, dial)


@BUGS.bug("an answer about another endpoint", "any report in the answer of the edge is taken", LOADBALANCER)
def an_answer_about_another_endpoint() -> None:
    async def upstreams_of(self: RemoteEdge, idents: Collection[str]) -> dict[str, Upstream]:
        found = await self._calls.check([*idents, *await _all(self)])
        good = [report for report in map(_upstream, found.values()) if report.reachable]
        return {ident: (good or [_upstream(found[ident])])[0] for ident in idents if ident in found}

    swap(RemoteEdge.upstreams, upstreams_of)


async def _all(edge: RemoteEdge) -> list[str]:
    return [endpoint.id for endpoint in await edge.online()]


@BUGS.bug(
    "the error of each retry in a message",
    "what can't be verified says how it was tried last, which is another write each time",
    "loadbalancer/0/calm/",
)
def the_error_of_each_retry() -> None:
    attempts = iter(range(1, 1_000_000))

    def unverified(self: ConditionType, message: str, error: str = "", *, at_once: bool = False) -> Condition:
        return self.unknown(self.lasting, f"{message}, attempt {next(attempts)}: {error or at_once}")

    swap(ConditionType.unverified, unverified)
