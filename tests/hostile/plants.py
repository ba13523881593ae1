"""Faults that are planted on purpose: a run that does not find them judges nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from tests.cluster.requests import request
from tests.hostile.attack import Attack
from tests.hostile.cases import Case
from tests.hostile.known_names import HOSTILE
from tests.hostile.world import World

LATER = 40  # cases that pass before it happens
Told = Callable[[str, Case], None]


def at_the_case(number: int, act: Callable[[str], None]) -> Told:
    seen = 0

    def told(name: str, _case: Case) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            act(name)

    return told


def crash(there: World, _attack: Attack) -> Told:
    """The operator is killed."""

    def act(_name: str) -> None:
        assert there.operator.process is not None
        there.operator.process.kill()
        there.operator.process.wait()

    return at_the_case(LATER, act)


def cross(there: World, _attack: Attack) -> Told:
    """A marker of the canary's Secret is put where the hostile tenant reads."""

    def act(name: str) -> None:
        body = {"metadata": {"name": f"planted-{name}"}, "data": {"text": there.markers.word}}
        made = request(there.plane, "POST", f"/api/v1/namespaces/{HOSTILE}/configmaps", body)
        assert made.code == 201, made.body

    return at_the_case(LATER, act)


def silence(there: World, _attack: Attack) -> Told:
    """The operator does nothing for the rest of the run."""

    def act(_name: str) -> None:
        assert there.operator.process is not None
        os.kill(there.operator.process.pid, signal.SIGSTOP)

    return at_the_case(LATER, act)


PLANTS: dict[str, Callable[[World, Attack], Told]] = {"crash": crash, "cross": cross, "silence": silence}
