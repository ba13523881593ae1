"""Checks of policies and certificates: off the event loop, one at a time, within each caller's time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from seamark_edge.edge import checking
from seamark_edge.edge.checking import MOST_RESULTS, Checker, TimeBudget
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.policy import EMPTY, Policy
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.edge.shares import Caller

DENY = '{"on_tcp_connect":[{"actions":[{"type":"deny"}]}]}'
A, B = Caller("cr_a"), Caller("cr_b")
NESTED = "on_tcp_connect: [" + ",".join(["[" * 24 + "1" + "]" * 24] * 190) + "]"


class Parser:
    """Stands in for the parser: records the texts and the threads, and holds each check until it may go on."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.threads: set[str] = set()
        self.go_on = threading.Event()

    def __call__(self, text: str) -> Policy:
        self.texts.append(text)
        self.threads.add(threading.current_thread().name)
        assert self.go_on.wait(10)
        if text.startswith("bad"):
            raise Refusal(2201, text)
        return Policy(text)


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parser]:
    parser = Parser()
    monkeypatch.setattr(checking, "parse_policy", parser)
    yield parser
    parser.go_on.set()


def test_the_loop_is_free_while_a_policy_is_checked_and_callers_alternate(parser: Parser) -> None:
    async def case() -> None:
        checker = Checker()
        first = [asyncio.create_task(checker.policy(f"a{number}", A)) for number in range(5)]
        other = asyncio.create_task(checker.policy("b", B))
        while not parser.texts:
            await asyncio.sleep(0)  # the loop goes on: the parser waits in its thread
        parser.go_on.set()
        assert (await other).text == "b"
        assert [policy.text for policy in await asyncio.gather(*first)] == ["a0", "a1", "a2", "a3", "a4"]
        assert parser.texts[:2] == ["a0", "b"]
        assert len(parser.threads) == 1
        assert threading.current_thread().name not in parser.threads
        checker.close()

    asyncio.run(case())


def test_a_text_is_checked_once_also_if_it_is_refused_and_not_all_are_remembered(parser: Parser) -> None:
    async def case() -> None:
        checker = Checker()
        parser.go_on.set()
        await asyncio.gather(*(checker.policy("good", Caller(f"cr_{number}")) for number in range(10)))
        for _ in range(2):
            with pytest.raises(Refusal, match="bad one") as refusal:
                await checker.policy("bad one", A)
            assert refusal.value.code == 2201
        assert parser.texts == ["good", "bad one"]
        for number in range(MOST_RESULTS):
            await checker.policy(f"other {number}", A)
        await checker.policy("good", A)
        assert parser.texts.count("good") == 2
        assert await checker.policy("  ", A) is EMPTY
        checker.close()

    asyncio.run(case())


def test_a_check_whose_caller_left_is_finished_before_the_next(parser: Parser) -> None:
    async def case() -> None:
        checker = Checker()
        left = asyncio.create_task(checker.policy("left", A))
        while not parser.texts:
            await asyncio.sleep(0)
        left.cancel()
        again = asyncio.create_task(checker.policy("again", A))
        await asyncio.sleep(0)
        parser.go_on.set()
        assert (await again).text == "again"
        assert parser.texts == ["left", "again"]
        checker.close()

    asyncio.run(case())


def test_a_caller_without_time_left_is_refused_and_told_when_to_try_again() -> None:
    budget = TimeBudget(seconds=2.0)
    budget.charge(A, 1.9, 100.0)
    budget.admit(A, 100.0)
    budget.charge(A, 0.3, 100.0)
    with pytest.raises(Refusal, match="more than 2 s of CPU time in a minute") as refusal:
        budget.admit(A, 100.0)
    assert refusal.value.status == 429
    assert refusal.value.after == pytest.approx(7.0)
    budget.admit(B, 100.0)
    budget.admit(A, 107.0)


def test_a_token_that_names_many_owners_has_no_more_turns_than_another(parser: Parser) -> None:
    async def case() -> None:
        checker = Checker()
        many = [asyncio.create_task(checker.policy(f"a{n}", Caller("cr_a", f"c/ns{n}"))) for n in range(10)]
        await asyncio.sleep(0)
        other = asyncio.create_task(checker.policy("b", B))
        while not parser.texts:
            await asyncio.sleep(0)
        parser.go_on.set()
        await asyncio.gather(other, *many)
        assert parser.texts.index("b") <= 2
        checker.close()

    asyncio.run(case())


def test_owners_within_one_token_take_turns_and_one_without_time_left_holds_up_no_other(parser: Parser) -> None:
    async def case() -> None:
        greedy, other = Caller("cr_a", "c/tenant-a"), Caller("cr_a", "c/tenant-b")
        budget = TimeBudget(seconds=2.0)
        checker = Checker(budget)
        first = [asyncio.create_task(checker.policy(f"a{number}", greedy)) for number in range(5)]
        small = asyncio.create_task(checker.policy("b", other))
        while not parser.texts:
            await asyncio.sleep(0)
        budget.charge(greedy, 1.5, time.monotonic())
        with pytest.raises(Refusal) as refusal:
            await checker.policy("more", greedy)  # at once, though checks of the same owner are under way
        assert refusal.value.owner == "c/tenant-a"
        parser.go_on.set()
        assert (await small).text == "b"
        results = await asyncio.gather(*first, return_exceptions=True)
        assert [isinstance(result, Refusal) for result in results] == [False, True, True, True, True]
        assert parser.texts == ["a0", "b"]
        checker.close()

    asyncio.run(case())


def test_a_caller_pays_for_its_checks_and_the_edge_itself_does_not() -> None:
    async def case() -> None:
        checker = Checker(TimeBudget(seconds=0.000001))
        await checker.policy(DENY, A)
        with pytest.raises(Refusal, match="CPU time"):
            await checker.policy(DENY + " ", A)
        assert (await checker.policy(DENY, A)).rules  # remembered: costs nothing
        assert (await checker.policy(DENY + "  ", checking.THE_EDGE)).rules
        assert (await checker.policy(DENY + "   ", checking.THE_EDGE)).rules
        checker.close()

    asyncio.run(case())


def test_a_deeply_nested_document_is_refused_at_its_first_deep_value() -> None:
    with pytest.raises(Refusal, match="16 levels"):
        parse_policy(NESTED)
