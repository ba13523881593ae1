"""Several replicas: writing without the lease."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from seamark_runtime.api.coordination import Lease
from seamark_runtime.calls import Calls
from seamark_runtime.client import Client, NoWriteDeadline, WriteDeadline
from seamark_runtime.fencing import ensure_leading
from seamark_runtime.leader import Leader
from seamark_runtime.request import Request
from seamark_runtime.transport import Answer, HttpRequest
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("leadership")


@BUGS.bug(
    "write deadline ignored",
    "a write is sent, however long ago the lease ran out",
    "election/0/calm/3:PAUSE",
    "election/0/calm/4:PAUSE",
)
def write_deadline_ignored() -> None:
    original = Client._send

    async def send(self: Client, request: HttpRequest) -> Answer:
        self.write_deadline = NoWriteDeadline()
        return await original(self, request)

    swap(Client._send, send)


@BUGS.bug(
    "calls without a write deadline",
    "a remote system is called, however long ago the lease ran out",
    "election/0/calm/1:PAUSE",
)
def calls_without_a_write_deadline() -> None:
    original = Calls.__init__

    def init(
        self: Calls,
        random: Random,
        enqueue: Callable[[Request], None],
        now: Callable[[], float],
        write_deadline: WriteDeadline | None = None,
    ) -> None:
        original(self, random, enqueue, now, None)

    swap(Calls.__init__, init)


@BUGS.bug("impatient candidate", "a lease is taken over without waiting for its end", "election/0/calm/")
def impatient_candidate() -> None:
    def run_out(_self: Leader, _lease: Lease, _now: float) -> bool:
        return True

    swap(Leader._run_out, run_out)


@BUGS.bug(
    "lease trusted too long", "a leader trusts its lease for longer than others do", "election/0/calm/5:RENEW_LOST"
)
def lease_trusted_too_long() -> None:
    original = Leader._take

    def take(self: Leader, started: float) -> None:
        original(self, started + 2 * self._settings.duration + self._settings.margin)

    swap(Leader._take, take)


@BUGS.bug(
    "age from before the read",
    "a candidate counts the age of a lease from before it asked for it, not from the response",
    *(f"leases/{seed}/calm/" for seed in range(60)),
)
def age_from_before_the_read() -> None:
    turn, run_out = Leader._turn, Leader._run_out
    started: dict[int, float] = {}

    async def from_its_start(self: Leader) -> None:
        started[id(self)] = self._clock.boottime()
        await turn(self)

    def from_before(self: Leader, lease: Lease, _now: float) -> bool:
        return run_out(self, lease, started[id(self)])

    swap(Leader._turn, from_its_start)
    swap(Leader._run_out, from_before)


@BUGS.bug(
    "suspended time not counted",
    "a leader's deadline does not advance while its machine is suspended",
    *(f"election/0/calm/{number}:SUSPEND" for number in range(1, 8)),
)
def suspended_time_not_counted() -> None:
    take = Leader._take

    def since_monotonic(self: Leader, started: float) -> None:
        take(self, started - self._clock.boottime() + self._clock.monotonic())

    def remaining(self: Leader) -> float:
        return self._deadline - self._clock.monotonic()

    swap(Leader._take, since_monotonic)
    swap(Leader.remaining, remaining)


@BUGS.bug(
    "what serves clients ends with the lease",
    "no response about the lease is taken for another leader",
    test="tests/unit/runtime/test_companions.py::"
    "test_what_lasts_goes_on_between_terms_and_ends_when_another_process_leads_and_with_the_operator",
)
def what_serves_clients_ends_with_the_lease() -> None:
    async def replaced(self: Leader) -> None:
        await self.lost()

    swap(Leader.replaced, replaced)


@BUGS.bug(
    "a call goes on after the lease",
    "a call that began in time sends its next change when the lease is lost",
    test="tests/unit/runtime/test_calls_lease.py::"
    "test_a_call_sends_nothing_more_once_the_lease_is_lost_however_long_it_has_been_under_way",
)
def a_call_goes_on_after_the_lease() -> None:
    def unfenced(_what: str) -> None:
        return None

    swap(ensure_leading, unfenced)
