"""What outlasts its process, its term, its token or its owner, and what a part reports by no declared error: caught by
regression tests."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from typing import TypeVar

import msgspec

from seamark.console.access import Access, User
from seamark.console.rows import Board
from seamark.explain.live import ObjectRef
from seamark.families.gateway.addresses.reconcile import assign
from seamark.families.gateway.addresses.state import Assignments, Pool
from seamark_runtime import client
from seamark_runtime.leader import process_identity
from seamark_runtime.renewal import RETRY, Renewal
from seamark_runtime.source import Collection
from seamark_runtime.untrusted.decoding import DEFAULT, Limits, decode_json
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("untrusted input")
UNIT = "tests/unit"
T = TypeVar("T")


@BUGS.bug(
    "an identity of two processes",
    "a process is known by its host and its number, which two containers on the host network share",
    test=f"{UNIT}/runtime/test_leader.py::test_two_processes_of_one_host_and_one_number_have_two_identities",
)
def an_identity_of_two_processes() -> None:
    def identity() -> str:
        return f"{socket.gethostname()}-{os.getpid()}"

    swap(process_identity, identity)


@BUGS.bug(
    "entries of an earlier term",
    "a collection of an earlier term of leadership counts as synced",
    test=f"{UNIT}/runtime/test_router.py::"
    "test_in_a_new_term_the_reports_of_an_earlier_one_are_not_synced_until_every_key_had_its_turn",
)
def entries_of_an_earlier_term() -> None:
    def restart(_self: Collection[object, object]) -> None:
        return

    swap(Collection.restart, restart)  # type: ignore[arg-type]  # of any types


@BUGS.bug(
    "a certificate in the middle of its rotation",
    "credentials that can't be used end the request that has read them again",
    test=f"{UNIT}/runtime/test_http_tls.py::"
    "test_a_certificate_read_in_the_middle_of_its_rotation_leaves_the_old_one_in_use",
)
def a_certificate_in_the_middle_of_its_rotation() -> None:
    async def if_due(self: Renewal) -> None:
        now = self._clock.monotonic()
        if now > self._due:
            self._due = now + RETRY
            await self._load_and_use()

    swap(Renewal.if_due, if_due)


@BUGS.bug(
    "a stream outlives its token",
    "whose a token is is asked for once",
    test=f"{UNIT}/operator/console/test_server.py::test_a_stream_ends_with_its_token",
)
def a_stream_outlives_its_token() -> None:
    original, users = Access.user, dict[str, User | None]()

    async def user(self: Access, token: str, source: str | None = None) -> User | None:
        if token not in users:
            users[token] = await original(self, token, source)
        return users[token]

    swap(Access.user, user)


@BUGS.bug(
    "a board that never shrinks",
    "what the console has shown is kept when it is gone",
    test=f"{UNIT}/operator/console/test_disclosure.py::test_the_board_is_as_large_as_what_is_there",
)
def a_board_that_never_shrinks() -> None:
    def forget(_self: Board, _references: set[ObjectRef]) -> None:
        return

    swap(Board._forget, forget)


@BUGS.bug(
    "the address of another Gateway",
    "who names an address gets it, whoever holds it",
    test=f"{UNIT}/operator/families/gateway/test_addresses.py::test_the_address_of_another_cannot_be_named",
)
def the_address_of_another_gateway() -> None:
    original = assign

    def by_name(pool: Pool) -> Assignments:
        return original(replace(pool, requests=tuple(replace(request, held=()) for request in pool.requests)))

    swap(assign, by_name)


@BUGS.bug(
    "a client that raises what it likes",
    "an object that can't be read raises what the decoder raises",
    test=f"{UNIT}/runtime/test_untrusted_objects.py::test_an_answer_that_can_not_be_read_is_a_declared_error",
)
def a_client_that_raises_what_it_likes() -> None:
    def decode(data: bytes | str, kind: type[T], _limits: Limits = DEFAULT) -> T:
        return msgspec.json.decode(data, type=kind)

    swap(decode_json, decode, only=client)
