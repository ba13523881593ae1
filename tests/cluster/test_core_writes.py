"""What the operator writes on a real API server, while that one refuses, fails, and is written to by others."""

from __future__ import annotations

from typing import Any

from seamark.providers.board.memory import MemoryBoard
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.operator_under_test import APPLY, MERGE, Api, on_real_api_server, operating, until, writes
from tests.cluster.tcp_proxy import Arrived, Proxy, status
from tests.greetings import greeting_controller


def makes_config_map(arrived: Arrived) -> bool:
    return arrived.method == "POST" and arrived.path.endswith("/configmaps")


def writes_status(arrived: Arrived) -> bool:
    return arrived.method == "PATCH" and arrived.path.endswith("/status")


def test_an_object_costs_one_child_and_one_status_and_nothing_more(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with operating(control_plane) as operator:
            mark = control_plane.audit.mark()
            made = await api.greet("a")
            assert {c["status"] for c in made["status"]["conditions"]} == {"Unknown"}  # a default of the CRD
            await until(lambda: api.ready("a"), "a is ready")
            await until(lambda: operator.quiet, "nothing is left to do")
            entries = [entry for entry in control_plane.audit.entries(mark) if entry.user == "operator"]
            assert writes(entries, namespace) == ["create/configmaps/a", "patch/greetings/status/a"]
            mark = control_plane.audit.mark()
            await api.change("a", text="other")
            await until(lambda: api.ready("a"), "a is ready for its new text")
            await until(lambda: operator.quiet, "nothing is left to do")
            entries = [entry for entry in control_plane.audit.entries(mark) if entry.user == "operator"]
            assert writes(entries, namespace) == ["patch/configmaps/a", "patch/greetings/status/a"]

    on_real_api_server(control_plane, namespace, test)


def test_a_409_because_the_object_changed_leads_to_a_status_for_the_newer_generation(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            held = proxy.hold(writes_status)
            await api.greet("a", text="first")
            await held.reached.wait()
            await api.change("a", text="second")
            mark = control_plane.audit.mark()
            held.release()
            await until(lambda: api.ready("a"), "a is ready")
            entries = control_plane.audit.entries(mark)
            codes = [e.code for e in entries if e.subresource == "status" and e.namespace == namespace]
            assert codes[0] == 409
            found = await api.config_map("a")
            assert found is not None
            assert found["data"] == {"text": "second"}

    on_real_api_server(control_plane, namespace, test)


def test_a_429_is_obeyed_for_as_long_as_the_server_asks(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            proxy.answer(makes_config_map, status(429, "TooManyRequests"))
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            first, second = [arrived.moment for arrived in proxy.arrived if makes_config_map(arrived)]
            assert second - first >= 1.0

    on_real_api_server(control_plane, namespace, test)


def test_a_500_is_tried_again_and_told_only_when_it_lasts(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            proxy.answer(makes_config_map, status(500, "InternalError", "etcd is on fire"), times=2)
            await api.greet("short")
            await until(lambda: api.ready("short"), "a short trouble is over")
            proxy.answer(makes_config_map, status(500, "InternalError", "etcd is on fire"), times=8)
            await api.greet("long")
            await until(lambda: _says(api, "long", "False", "etcd is on fire"), "a lasting failure is reported")
            await until(lambda: api.ready("long"), "and it is over")

    on_real_api_server(control_plane, namespace, test)


async def _says(api: Api, name: str, verdict: str, words: str) -> bool:
    condition = await api.condition(name)
    return condition.get("status") == verdict and words in condition["message"]


def test_a_write_whose_answer_was_lost_is_not_done_twice(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            held = proxy.hold(makes_config_map, answer_too_late=True)
            await api.greet("a")
            await held.reached.wait()
            await until(lambda: _exists(api, "a"), "the ConfigMap is made")
            proxy.cut(makes_config_map)
            held.release()
            await until(lambda: api.ready("a"), "a is ready")
            _, listing = await api.ask("GET", api.config_map_path())
            ours = [item["metadata"] for item in listing["items"] if "ownerReferences" in item["metadata"]]
            assert [metadata["name"] for metadata in ours] == ["a"]

    on_real_api_server(control_plane, namespace, test)


async def _exists(api: Api, name: str) -> bool:
    return await api.config_map(name) is not None


def test_a_status_written_by_two_field_managers_keeps_the_words_of_both(
    control_plane: ControlPlane, namespace: str
) -> None:
    foreign = {
        "type": "example.com/Liked",
        "status": "True",
        "reason": "Nice",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }

    async def test(api: Api) -> None:
        async with operating(control_plane):
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            body = {
                "apiVersion": "sample.seamark.dev/v1alpha1",
                "kind": "Greeting",
                "metadata": {"name": "a"},
                "status": {"conditions": [foreign]},
            }
            path = f"{api.greeting_path('a')}/status?fieldManager=liker"
            code, _ = await api.ask("PATCH", path, body, APPLY)
            assert code == 200
            await api.change("a", text="other")
            await until(lambda: api.ready("a"), "a is ready for its new text")
            conditions = {c["type"]: c for c in (await api.greeting("a"))["status"]["conditions"]}
            assert conditions["example.com/Liked"] == foreign
            await api.ask("PATCH", path, {**body, "status": {}}, APPLY)
            await api.change("a", text="third")
            await until(lambda: api.ready("a"), "a is ready for its third text")
            assert {c["type"] for c in (await api.greeting("a"))["status"]["conditions"]} == {
                "Published",
                "Posted",
                "Ready",
            }

    on_real_api_server(control_plane, namespace, test)


def test_a_users_object_made_a_moment_before_ours_is_never_touched(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            held = proxy.hold(makes_config_map)
            await api.greet("a")
            await held.reached.wait()
            body = {"metadata": {"name": "a"}, "data": {"mine": "yes"}}
            code, users = await api.ask("POST", api.config_map_path(), body)
            assert code == 201
            held.release()
            await until(lambda: _says(api, "a", "False", "exists and is not managed by Seamark"), "it is told")
            assert (await api.condition("a", "Published"))["reason"] == "ConfigMapTaken"
            await api.change("a", text="other")
            await until(
                lambda: _says(api, "a", "False", "exists and is not managed by Seamark"), "it is reported again"
            )
            assert await api.config_map("a") == users
            await api.ask("DELETE", api.config_map_path("a"))
            await until(lambda: api.ready("a"), "ours is made when theirs is gone")
            ours = await api.config_map("a")
            assert ours is not None
            assert ours["data"] == {"text": "other"}

    on_real_api_server(control_plane, namespace, test)


def test_a_status_meant_for_a_deleted_object_never_lands_on_its_successor(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            held = proxy.hold(writes_status)
            old = await api.greet("a", text="old")
            await held.reached.wait()
            await api.drop("a")
            new = await api.greet("a", text="new")
            assert new["metadata"]["uid"] != old["metadata"]["uid"]
            again = proxy.hold(writes_status)
            held.release()
            await again.reached.wait()  # the old one is refused by now, and a new judgement on its way
            seen = await api.greeting("a")
            assert {c["status"] for c in seen["status"]["conditions"]} == {"Unknown"}
            assert seen["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]
            again.release()
            await until(lambda: api.ready("a"), "the new one is ready")
            found = await api.config_map("a")
            assert found is not None
            assert found["metadata"]["ownerReferences"][0]["uid"] == new["metadata"]["uid"]
            assert found["data"] == {"text": "new"}

    on_real_api_server(control_plane, namespace, test)


def test_a_child_that_a_user_took_over_is_not_deleted_with_its_owner(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            await api.greet("a", board="news")
            await until(lambda: api.ready("a"), "a is ready")
            held = proxy.hold(lambda arrived: arrived.method == "DELETE")
            await api.drop("a")
            await held.reached.wait()
            taken: dict[str, Any] = {"metadata": {"ownerReferences": None}, "data": {"mine": "now"}}
            code, _ = await api.ask("PATCH", api.config_map_path("a"), taken, MERGE)
            assert code == 200
            held.release()

            async def gone() -> bool:
                return (await api.ask("GET", api.greeting_path("a")))[0] == 404

            await until(gone, "the greeting is gone")
            found = await api.config_map("a")
            assert found is not None
            assert found["data"]["mine"] == "now"

    on_real_api_server(control_plane, namespace, test)


def test_a_deleted_object_takes_its_child_and_its_post_with_it(control_plane: ControlPlane, namespace: str) -> None:
    board = MemoryBoard()

    async def test(api: Api) -> None:
        async with operating(control_plane, sample=greeting_controller(board)):
            await api.greet("a", board="news")
            await until(lambda: api.ready("a"), "a is ready")
            assert list(board.posts.values()) == ["hello"]
            await api.drop("a")

            async def gone() -> bool:
                return (await api.ask("GET", api.greeting_path("a")))[0] == 404 and not await _exists(api, "a")

            await until(gone, "nothing is left")
            assert board.posts == {}

    on_real_api_server(control_plane, namespace, test)
