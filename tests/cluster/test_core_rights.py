"""The operator works under exactly the role that follows from its declarations, and reports its removal."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from seamark.families.sample.greeting.reconcile import judge
from seamark.providers.board.memory import MemoryBoard
from seamark_cluster.real.audit import Entry
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime import events
from seamark_runtime.controller import Controller
from seamark_runtime.errors import Refused
from seamark_runtime.rbac import Grant, grants, rules
from tests.cluster.operator_under_test import Api, on_real_api_server, operating, until
from tests.cluster.tcp_proxy import Arrived, Proxy, status
from tests.greetings import greeting_controller

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = f"{RBAC}/clusterroles/seamark-under-test"
BINDING = f"{RBAC}/clusterrolebindings/seamark-under-test"
FULL = grants(greeting_controller())


async def allow(api: Api, found: Iterable[Grant]) -> None:
    """Exactly these rights, and no others, for the user alice."""
    role = {"metadata": {"name": "seamark-under-test"}, "rules": rules(found)}
    code, answer = await api.ask("PUT", ROLE, role)
    if code == 404:
        code, answer = await api.ask("POST", ROLE.rpartition("/")[0], role)
    assert code in (200, 201), answer
    binding = {
        "metadata": {"name": "seamark-under-test"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "seamark-under-test"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }
    code, answer = await api.ask("POST", BINDING.rpartition("/")[0], binding)
    assert code in (201, 409), answer


@asynccontextmanager
async def nothing_left(api: Api) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await api.ask("DELETE", BINDING)
        await api.ask("DELETE", ROLE)


async def says(api: Api, name: str, reason: str, words: str) -> bool:
    condition = await api.condition(name)
    return condition.get("reason") == reason and words in condition["message"]


def test_a_right_withdrawn_is_told_in_the_servers_words_and_restored_goes_on(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def test(api: Api) -> None:
        async with nothing_left(api):
            await allow(api, FULL)
            async with operating(control_plane, user="alice") as operator:
                await until(lambda: operator.missing() == [], "it may follow its kinds")
                await api.greet("a")
                await until(lambda: api.ready("a"), "a is ready")
                await allow(api, FULL - {Grant("", "configmaps", "create"), Grant("", "configmaps", "patch")})
                await api.greet("b")
                await api.change("a", text="other")
                words = 'User "alice" cannot create resource "configmaps"'
                await until(lambda: says(api, "b", "ConfigMapRefused", words), "b reports what is forbidden")
                words = 'User "alice" cannot patch resource "configmaps"'
                await until(lambda: says(api, "a", "ConfigMapRefused", words), "a reports what is forbidden")
                await allow(api, FULL)
                await until(lambda: api.all_ready(["a", "b"]), "both are ready again")

    on_real_api_server(control_plane, namespace, test)


def test_all_rights_withdrawn_and_restored(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with nothing_left(api), Proxy.to(control_plane) as proxy:
            await allow(api, FULL)
            async with operating(control_plane, user="alice", url=proxy.url) as operator:
                await until(lambda: operator.missing() == [], "it may follow its kinds")
                await api.greet("a")
                await until(lambda: api.ready("a"), "a is ready")
                await allow(api, ())
                proxy.cut()
                words = "not allowed to follow greetings.sample.seamark.dev"
                await until(lambda: words in " ".join(operator.missing()), "it reports what is forbidden")
                await api.greet("b")
                await allow(api, FULL)
                await until(lambda: api.ready("b"), "b is ready")
                await until(lambda: operator.missing() == [], "nothing is missing")

    on_real_api_server(control_plane, namespace, test)


def test_a_forbidden_list_is_named_and_waited_for(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with nothing_left(api):
            await api.greet("a")
            await allow(api, {grant for grant in FULL if grant.resource != "configmaps"})
            async with operating(control_plane, user="alice") as operator:
                words = "not allowed to follow configmaps: configmaps is forbidden"
                await until(
                    lambda: any(words in trouble for trouble in operator.missing()), "it reports what is forbidden"
                )
                await allow(api, FULL)
                await until(lambda: api.ready("a"), "a is ready")

    on_real_api_server(control_plane, namespace, test)


class MoodyBoard(MemoryBoard):
    mood = ""

    async def post(self, board: str, owner: str, text: str) -> None:
        if self.mood:
            raise Refused(self.mood)
        await super().post(board, owner, text)


def crashing(sample: Controller[Any]) -> Controller[Any]:
    """Has a bug that every other reconcile of such a text shows: a failure that repeats at once is reported once."""
    reconciles = itertools.count()

    def judged(seen: Any, answers: Any) -> Any:
        assert not seen.greeting.spec.text.startswith("crash") or next(reconciles) % 2
        return judge(seen, answers)

    return replace(sample, judge=judged)


def used(entries: Iterable[Entry]) -> set[Grant]:
    resources = ((entry, "/".join(filter(None, (entry.resource, entry.subresource)))) for entry in entries)
    return {
        Grant(entry.group, name, entry.verb) for entry, name in resources if entry.user == "alice" and entry.resource
    }


def follows_greetings(arrived: Arrived) -> bool:
    return arrived.watch and arrived.path.endswith("/greetings")


def test_every_right_of_the_role_is_used_and_no_other_is_needed(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "WINDOW", 0.0)
    board = MoodyBoard()
    sample = crashing(greeting_controller(board, verify_every=0.2))
    mark = control_plane.audit.mark()

    async def life(api: Api, proxy: Proxy) -> None:
        async with operating(control_plane, user="alice", url=proxy.url, sample=sample) as operator:
            operator.loop._dependencies.expectations._bound = 0.3
            held = proxy.hold(lambda arrived: arrived.method == "POST" and arrived.path.endswith("/configmaps"))
            await api.greet("taken", board="news")
            await held.reached.wait()
            await api.ask("POST", api.config_map_path(), {"metadata": {"name": "taken"}})
            held.release()
            await until(lambda: says(api, "taken", "ConfigMapTaken", "not managed"), "a name is taken")
            await api.ask("DELETE", api.config_map_path("taken"))
            await until(lambda: api.ready("taken"), "it is free")
            await api.change("taken", text="other")
            await until(lambda: api.ready("taken"), "its child is changed")
            await api.greet("crash", text="crash")
            texts = (f"crash {number}" for number in itertools.count())

            async def counted() -> bool:
                await api.change("crash", text=next(texts))  # each change causes a reconcile
                return Grant("events.k8s.io", "events", "patch") in used(control_plane.audit.entries(mark))

            await until(counted, "a repeated event is counted")
            proxy.freeze(follows_greetings)
            board.mood = "closed"  # a status is written that the watch does not show
            await until(lambda: says(api, "taken", "BoardFailed", "closed"), "a failure is reported")
            board.mood = ""
            await until(lambda: api.ready("taken"), "the live object is asked for, and all is well again")
            await api.drop("taken")

            async def gone() -> bool:
                return (await api.ask("GET", api.greeting_path("taken")))[0] == 404

            await until(gone, "it is gone with its child")

    async def test(api: Api) -> None:
        async with nothing_left(api), Proxy.to(control_plane) as proxy:
            await allow(api, FULL)
            await life(api, proxy)
            # A server without streaming lists needs the right to list.
            proxy.answer(lambda arrived: "sendInitialEvents" in arrived.query, status(422, "Invalid"), times=100)
            async with operating(control_plane, user="alice", url=proxy.url, sample=sample) as operator:
                await until(lambda: operator.missing() == [], "it is ready")

    on_real_api_server(control_plane, namespace, test)
    entries = control_plane.audit.entries(mark)
    here = [entry for entry in entries if entry.user == "alice" and entry.namespace in ("", namespace)]
    assert [entry.uri for entry in here if entry.code == 403] == []
    assert FULL - used(entries) == set()
    assert used(entries) - FULL == set()
