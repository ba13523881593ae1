"""One leader at a time, and none that writes after its deadline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.clock import SuspendAwareClock, SystemClock
from seamark_runtime.errors import Fenced
from seamark_runtime.leader import Leader, LeaseSettings, process_identity
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from tests.unit.runtime.scripted import Lamp, ScriptedTransport, body, failed, lamp, ok, wire
from tests.virtual_time import CLOCK, EPOCH, LoopClock, elapsed, run

SETTINGS = LeaseSettings(duration=15, renew=5, margin=3)


class LeaseServer:
    """An API server that knows one Lease; it can be cut off."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.up = True
        self.transport = ScriptedTransport(self.answer)

    def answer(self, request: HttpRequest) -> Answer | BaseException:  # noqa: PLR0911  one row per answer
        if "/leases" not in request.path:
            return ok(wire())
        if not self.up:
            return NoAnswerError("cut", sent=False)
        if request.method == "GET":
            return ok(self.lease) if self.lease else failed(404, "NotFound")
        sent = json.loads(request.body)
        if request.method == "POST":
            if self.lease:
                return failed(409, "AlreadyExists")
            self.lease = {"metadata": {**sent["metadata"], "uid": "u"}, "spec": sent["spec"]}
        elif self.lease is None:
            return failed(404, "NotFound")
        else:
            if sent["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                return failed(409, "Conflict")
            self.lease = {**self.lease, "spec": {**self.lease["spec"], **sent["spec"]}}
        self.version += 1
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return ok(self.lease)

    @property
    def holder(self) -> str:
        assert self.lease is not None
        return str(self.lease["spec"]["holderIdentity"])

    def candidate(self, identity: str, settings: LeaseSettings = SETTINGS, clock: SuspendAwareClock = CLOCK) -> Leader:
        client = Client(self.transport, manager="seamark", timeout=4)
        return Leader(client, Key("seamark-system", "seamark"), identity, clock, settings)


class SuspendedMachine(LoopClock):
    """The loop's timers do not run on while the machine is suspended; `boottime` does."""

    suspended = 0.0

    def boottime(self) -> float:
        return self.monotonic() + self.suspended


def scenario(test: Callable[[LeaseServer], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def runs() -> None:
        async def program() -> None:
            await test(LeaseServer())

        run(program())

    runs.__name__ = test.__name__
    return runs


@scenario
async def test_the_first_makes_the_lease_and_leads(server: LeaseServer) -> None:
    leader = server.candidate("a")
    assert not leader.leading
    task = asyncio.create_task(leader.run())
    await leader.gained()
    assert leader.remaining() == 12
    assert server.holder == "a"
    task.cancel()


@scenario
async def test_a_lease_is_renewed_for_as_long_as_we_run(server: LeaseServer) -> None:
    leader = server.candidate("a")
    task = asyncio.create_task(leader.run())
    await leader.gained()
    lost = asyncio.create_task(leader.lost())
    await asyncio.sleep(1000)
    assert leader.leading
    assert not lost.done()
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 0
    task.cancel()
    lost.cancel()


@scenario
async def test_a_renewal_does_not_wait_for_the_writes_that_need_it(server: LeaseServer) -> None:
    leader = server.candidate("a")
    task = asyncio.create_task(leader.run())
    await leader.gained()
    assert all(request.urgent for request in server.transport.sent)
    task.cancel()


@scenario
async def test_a_second_one_waits_while_the_first_renews(server: LeaseServer) -> None:
    first, second = server.candidate("a"), server.candidate("b")
    tasks = [asyncio.create_task(one.run()) for one in (first, second)]
    for _ in range(200):
        await asyncio.sleep(1)
        assert not (first.leading and second.leading)
    assert first.leading
    for task in tasks:
        task.cancel()


@scenario
async def test_another_takes_over_only_after_the_first_has_passed_its_own_deadline(server: LeaseServer) -> None:
    first, second = server.candidate("a"), server.candidate("b")
    running = asyncio.create_task(first.run())
    await first.gained()
    other = asyncio.create_task(second.run())
    await asyncio.sleep(30)
    running.cancel()  # it hangs: no renewal, no goodbye
    ended = asyncio.create_task(first.lost())
    await second.gained()
    assert ended.done()
    assert not first.leading
    assert server.holder == "b"
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 1
    other.cancel()


@scenario
async def test_that_another_process_leads_is_known_from_a_response_alone(server: LeaseServer) -> None:
    first, second = server.candidate("a"), server.candidate("b")
    running = asyncio.create_task(first.run())
    await first.gained()
    replaced = asyncio.create_task(first.replaced())
    running.cancel()  # it hangs
    other = asyncio.create_task(second.run())
    await second.gained()
    await asyncio.sleep(30)
    assert not first.leading
    assert not replaced.done()
    running = asyncio.create_task(first.run())
    await asyncio.sleep(1)
    assert replaced.done()
    other.cancel()
    await first.gained()
    replaced = asyncio.create_task(first.replaced())
    await asyncio.sleep(30)
    assert not replaced.done()
    for task in (running, replaced):
        task.cancel()


@scenario
async def test_the_deadline_counts_from_before_the_renewal_was_sent(server: LeaseServer) -> None:
    server.transport.delay = 2
    leader = server.candidate("a")
    task = asyncio.create_task(leader.run())
    await leader.gained()
    assert elapsed() == 4  # a read and a create
    assert leader.remaining() == 8
    task.cancel()


@scenario
async def test_a_candidate_counts_a_leases_age_from_the_response_that_showed_it(server: LeaseServer) -> None:
    first, second = server.candidate("a"), server.candidate("b")
    running = asyncio.create_task(first.run())
    await first.gained()
    running.cancel()  # it hangs: no renewal, no goodbye
    server.transport.delay = 3.5
    other = asyncio.create_task(second.run())
    await asyncio.sleep(3.5)
    shown = elapsed()
    server.transport.delay = 0
    await second.gained()
    assert elapsed() - shown >= SETTINGS.duration
    other.cancel()


@scenario
async def test_a_leader_whose_machine_was_suspended_writes_nothing_when_it_is_resumed(server: LeaseServer) -> None:
    clock = SuspendedMachine(EPOCH)
    leader = server.candidate("a", clock=clock)
    client = Client(server.transport, manager="seamark", write_deadline=leader)
    running = asyncio.create_task(leader.run())
    await leader.gained()
    lost = asyncio.create_task(leader.lost())
    clock.suspended = 3600
    assert not leader.leading
    with pytest.raises(Fenced):
        await client.create(lamp("a"))
    await leader.gained()  # its own renewal finds that no other candidate has taken the lease
    await asyncio.wait_for(lost, 1)  # and all the same a term has ended: others may have led in between
    running.cancel()


@scenario
async def test_whatever_goes_wrong_with_a_renewal_the_election_goes_on(server: LeaseServer) -> None:
    answer, server.transport.respond = server.transport.respond, lambda _request: RuntimeError("not foreseen")
    leader = server.candidate("a")
    task = asyncio.create_task(leader.run())
    await asyncio.sleep(10)
    server.transport.respond = answer
    await asyncio.wait_for(leader.gained(), 10)
    task.cancel()


def test_two_processes_of_one_host_and_one_number_have_two_identities() -> None:
    one, two = process_identity(), process_identity()
    assert one != two
    assert len(one) <= 128, "events carry it as reportingInstance"


def test_the_machines_clock_of_leases_counts_from_its_boot() -> None:
    clock = SystemClock()
    assert clock.boottime() >= clock.monotonic() - 1  # it has stood still for no longer than the other


@scenario
async def test_a_leader_that_is_cut_off_ends_before_anybody_else_can_begin(server: LeaseServer) -> None:
    leader = server.candidate("a")
    task = asyncio.create_task(leader.run())
    await leader.gained()
    server.up = False
    await leader.lost()
    assert elapsed() == 12
    server.up = True
    await leader.gained()
    assert server.holder == "a"
    task.cancel()


@scenario
async def test_nothing_is_sent_after_the_deadline(server: LeaseServer) -> None:
    leader = server.candidate("a")
    client = Client(server.transport, manager="seamark", write_deadline=leader, timeout=30)
    with pytest.raises(Fenced):
        await client.create(lamp("a"))
    task = asyncio.create_task(leader.run())
    await leader.gained()
    await asyncio.sleep(2)
    server.up = False
    await client.create(lamp("a"))
    (write,) = (request for request in server.transport.sent if "/lamps" in request.path)
    assert write.timeout == 10  # less than is left until the deadline
    await leader.lost()
    for verb in (client.create(lamp("a")), client.merge_patch(Lamp, Key("ns", "a"), {})):
        with pytest.raises(Fenced):
            await verb
    assert sum("/lamps" in request.path for request in server.transport.sent) == 1
    task.cancel()


@scenario
async def test_a_lease_given_back_is_taken_at_once(server: LeaseServer) -> None:
    first, second = server.candidate("a"), server.candidate("b")
    running = asyncio.create_task(first.run())
    await first.gained()
    other = asyncio.create_task(second.run())
    await asyncio.sleep(20)
    running.cancel()
    await first.release()
    assert not first.leading
    assert server.holder == ""
    since = elapsed()
    await second.gained()
    assert elapsed() - since <= SETTINGS.renew / 2
    other.cancel()


@scenario
async def test_what_is_not_ours_is_not_given_back(server: LeaseServer) -> None:
    leader = server.candidate("a")
    await leader.release()
    assert server.transport.sent == []


@scenario
async def test_a_stop_does_not_wait_long_for_a_server_that_is_not_there(server: LeaseServer) -> None:
    leader = server.candidate("a")
    task = asyncio.create_task(leader.run())
    await leader.gained()
    task.cancel()
    server.transport.delay = 1000
    since = elapsed()
    await leader.release()
    assert elapsed() - since <= SETTINGS.renew
    assert not leader.leading


@scenario
async def test_a_restarted_process_of_the_same_name_goes_on_at_once(server: LeaseServer) -> None:
    first = server.candidate("a")
    task = asyncio.create_task(first.run())
    await first.gained()
    task.cancel()
    again = server.candidate("a")
    task = asyncio.create_task(again.run())
    since = elapsed()
    await again.gained()
    assert elapsed() == since
    task.cancel()


@pytest.mark.parametrize("duration", [1.0, 1.5, 1.9, 2.5, 15.0])
def test_what_others_are_told_of_the_duration_is_never_less_than_what_we_count_on(duration: float) -> None:
    async def program() -> None:
        server = LeaseServer()
        settings = LeaseSettings(duration=duration, renew=duration / 3, margin=duration / 5)
        leader = server.candidate("a", settings)
        task = asyncio.create_task(leader.run())
        await leader.gained()
        told = body(next(request for request in server.transport.sent if request.method == "POST"))
        assert told["spec"]["leaseDurationSeconds"] >= duration
        await asyncio.sleep(duration)
        renewed = body(server.transport.sent[-1])
        assert renewed["spec"]["leaseDurationSeconds"] >= duration
        task.cancel()

    run(program())
