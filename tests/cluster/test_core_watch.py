"""The operator follows a real API server through everything that can happen to a watch."""

from __future__ import annotations

import asyncio
import json

from seamark.api.sample import Greeting
from seamark.families.sample.family import GREETING
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.operator_under_test import Api, on_real_api_server, operating, until
from tests.cluster.requests import DEFINITIONS, eventually, install, request
from tests.cluster.tcp_proxy import Arrived, Proxy, reply, status

GREETINGS = "/apis/sample.seamark.dev/v1alpha1/greetings"


def greetings_watch(arrived: Arrived) -> bool:
    return arrived.watch and arrived.path == GREETINGS


def resumed(arrived: Arrived) -> bool:
    return greetings_watch(arrived) and arrived.query["resourceVersion"] != ""


def listed(arrived: Arrived) -> bool:
    return greetings_watch(arrived) and arrived.query.get("sendInitialEvents") == "true"


def test_a_watch_cut_in_the_middle_of_a_line_loses_nothing(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            lists = proxy.count(listed)
            proxy.cut_mid_line(greetings_watch)
            await api.greet("b")  # its event is the one that is cut
            await until(lambda: api.ready("b"), "b is ready")
            assert proxy.count(resumed) >= 1
            assert proxy.count(listed) == lists, "resumed, not listed again"

    on_real_api_server(control_plane, namespace, test)


def test_a_410_as_a_status_leads_to_a_new_list(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            lists = proxy.count(listed)
            proxy.answer(resumed, status(410, "Expired"))
            proxy.cut(greetings_watch)
            await api.greet("b")
            await until(lambda: api.ready("b"), "b is ready")
            assert proxy.count(listed) == lists + 1

    on_real_api_server(control_plane, namespace, test)


def test_a_410_inside_the_stream_leads_to_a_new_list(control_plane: ControlPlane, namespace: str) -> None:
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}

    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url):
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            lists = proxy.count(listed)
            proxy.answer(resumed, reply(200, json.dumps(gone).encode() + b"\n"))
            proxy.cut(greetings_watch)
            await api.drop("a")
            await api.greet("b")
            await until(lambda: api.ready("b"), "b is ready")
            assert proxy.count(listed) == lists + 1

    on_real_api_server(control_plane, namespace, test)


def test_a_server_without_streaming_lists_is_read_in_pages(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        names = [f"g{number}" for number in range(5)]
        for name in names:
            await api.greet(name)
        async with Proxy.to(control_plane) as proxy:
            proxy.answer(lambda arrived: "sendInitialEvents" in arrived.query, status(422, "Invalid"), times=100)
            async with operating(control_plane, url=proxy.url):
                await until(lambda: api.all_ready(names), "all are ready")
                assert proxy.count(lambda arrived: arrived.query.get("limit") == "500") >= 2

    on_real_api_server(control_plane, namespace, test)


def test_a_half_open_connection_is_noticed(control_plane: ControlPlane, namespace: str) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url, watch_idle=1.0):
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            assert proxy.freeze(lambda arrived: arrived.watch) == 2  # both kinds
            await api.greet("b")
            await until(lambda: api.ready("b"), "b is ready")

    on_real_api_server(control_plane, namespace, test)


def test_our_own_write_that_a_silent_watch_does_not_show_is_looked_up(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url) as operator:
            operator.loop._dependencies.expectations._bound = 0.5
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            assert proxy.freeze(lambda arrived: arrived.watch and arrived.path.endswith("/configmaps")) == 1
            lists = proxy.count(lambda arrived: "sendInitialEvents" in arrived.query)
            await api.change("a", text="second")
            await until(lambda: api.ready("a"), "a is ready for its second text")
            await api.change("a", text="third")  # not looked at before the second write is seen
            await until(lambda: api.ready("a"), "a is ready for its third text")
            found = await api.config_map("a")
            assert found is not None
            assert found["data"] == {"text": "third"}
            assert proxy.count(lambda arrived: "sendInitialEvents" in arrived.query) == lists + 1

    on_real_api_server(control_plane, namespace, test)


def loose(manifest: dict[str, object]) -> dict[str, object]:
    """The kind with a schema that lets anything into its spec."""
    text = json.loads(json.dumps(manifest))
    schema = text["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    loosened: dict[str, object] = text
    return loosened


def test_an_object_that_cant_be_decoded_delays_nobody(own_plane: ControlPlane) -> None:
    made = request(own_plane, "POST", DEFINITIONS, loose(GREETING.manifest()))
    assert made.code == 201, made.body
    eventually(lambda: request(own_plane, "GET", GREETINGS).code == 200, "the kind is served")

    async def test(api: Api) -> None:
        bad = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "metadata": {"name": "bad"}}
        code, _ = await api.ask("POST", api.greeting_path(), {**bad, "spec": {"text": 5}})
        assert code == 201
        await api.greet("before")
        async with operating(own_plane) as operator:
            informer = operator.informers[Greeting]
            await until(lambda: api.ready("before"), "an object beside it is ready")
            await api.greet("after")
            await until(lambda: api.ready("after"), "a later one is ready")
            assert [key.name for key in informer.broken] == ["bad"]
            await api.change("bad", text="mended")
            await until(lambda: api.ready("bad"), "the mended one is ready")
            assert informer.broken == {}
            await api.change("bad", text=5)
            await until(lambda: len(informer.broken) == 1, "it is broken again")
            await api.drop("bad")
            await until(lambda: informer.broken == {}, "it is gone")

    on_real_api_server(own_plane, "default", test, installed=False)


def test_a_missing_crd_is_named_and_waited_for(own_plane: ControlPlane) -> None:
    async def test(api: Api) -> None:
        async with operating(own_plane) as operator:
            await until(
                lambda: any("install its CRD" in words for words in operator.missing()), "it reports what is missing"
            )
            await asyncio.to_thread(install, own_plane, GREETING)
            await until(lambda: operator.missing() == [], "it is ready")
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")

    on_real_api_server(own_plane, "default", test, installed=False)
