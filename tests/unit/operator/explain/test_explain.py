"""The chain behind an object is walked, and the first broken hop is named."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.console import Console

from seamark.explain import kinds
from seamark.explain.links import Reference, Selection, agent_endpoint
from seamark.explain.meanings import meanings
from seamark.explain.model import Hop, Raw, Truth, root_cause
from seamark.explain.reader import Forbidden, Missing, Reader
from seamark.explain.show import age, plain, tree
from seamark.explain.walk import explained
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.errors import UserError
from seamark_runtime.transport import Answer, HttpRequest
from tests.unit.operator.explain.chain import Chain, condition
from tests.virtual_time import CLOCK, run

NOW = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def asked(prepare: Callable[[Chain], Awaitable[object]], resource: Resource, name: str) -> Hop:
    async def program() -> None:
        chain = Chain()
        await prepare(chain)
        key = Key("default" if resource.namespaced else "", name)
        found.append(await explained(Reader(chain.transport), resource, key, meanings()))

    found: list[Hop] = []
    run(program())
    return found[0]


def printed(hop: Hop) -> str:
    paper = StringIO()
    Console(width=160, file=paper).print(tree(hop, NOW))
    return paper.getvalue()


def shape(hop: Hop) -> object:
    """The tree in short: what, its truth, and its dependencies."""
    return {f"{hop} {hop.truth.value}": [shape(below) for below in hop.hops]}


async def all_well(chain: Chain) -> None:
    await chain.serve()
    await chain.route()


def test_a_route_stands_on_its_gateway_and_its_backends_down_to_the_pods() -> None:
    hop = asked(all_well, kinds.HTTP_ROUTE, "web")
    assert shape(hop) == {
        "HTTPRoute default/web True": [
            {"Gateway default/front True": [{"GatewayClass kgateway True": []}]},
            {"Service default/web True": [{"EndpointSlice default/web-x True": []}, {"Pod default/web-1 True": []}]},
        ]
    }
    assert root_cause(hop) is None
    assert "Nothing is broken." in printed(hop)


def test_the_deepest_broken_hop_is_to_blame_not_those_that_stand_on_it() -> None:
    async def pod_dies(chain: Chain) -> None:
        await all_well(chain)
        waiting = {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}
        status = {
            "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [
                {
                    "name": "app",
                    "ready": False,
                    "state": {"waiting": waiting},
                    "image": "",
                    "imageID": "",
                    "restartCount": 3,
                }
            ],
        }
        await chain.say(kinds.POD, "web-1", status)
        parent = {"parentRef": {"name": "front"}, "conditions": [condition("Accepted", "False", "Sad", "no")]}
        await chain.say(kinds.HTTP_ROUTE, "web", {"parents": [parent]})

    hop = asked(pod_dies, kinds.HTTP_ROUTE, "web")
    assert hop.truth is Truth.FALSE
    cause = root_cause(hop)
    assert cause is not None
    assert str(cause) == "Pod default/web-1"
    assert cause.message == "app CrashLoopBackOff: back-off 10s restarting"
    text = printed(hop)
    assert "The first broken hop is Pod default/web-1" in text
    assert "kubectl logs -n default web-1" in text
    assert plain(hop)["broken"]["kind"] == "Pod"


def test_a_reference_to_nothing_is_the_broken_hop() -> None:
    async def no_service(chain: Chain) -> None:
        await chain.route()

    cause = root_cause(asked(no_service, kinds.HTTP_ROUTE, "web"))
    assert cause is not None
    assert (str(cause), cause.truth, cause.how) == ("Service default/web", Truth.MISSING, "backend of rule 1")


def test_a_service_whose_selector_fits_no_pod_says_so() -> None:
    async def nobody(chain: Chain) -> None:
        await chain.make(kinds.SERVICE, "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})

    hop = asked(nobody, kinds.SERVICE, "web")
    assert [below.message for below in hop.hops] == [
        "there is none with kubernetes.io/service-name=web",
        "there is none with app=web",
    ]


def test_a_statement_about_an_older_spec_proves_nothing() -> None:
    async def behind(chain: Chain) -> None:
        await chain.install(kinds.DNS_ENDPOINT)
        await chain.make(kinds.DNS_ENDPOINT, "a", {"conditions": [condition("Ready", generation=7)]}, spec={})

    hop = asked(behind, kinds.DNS_ENDPOINT, "a")
    assert (hop.truth, hop.message) == (Truth.UNKNOWN, "Ready is about an older spec")


def test_a_kind_of_ours_that_says_nothing_is_unknown_and_a_config_map_is_fine() -> None:
    async def silent(chain: Chain) -> None:
        await chain.install(kinds.DNS_ENDPOINT)
        await chain.make(kinds.DNS_ENDPOINT, "a", spec={})
        await chain.make(kinds.CONFIG_MAP, "b")

    assert asked(silent, kinds.DNS_ENDPOINT, "a").truth is Truth.UNKNOWN
    assert asked(silent, kinds.CONFIG_MAP, "b").truth is Truth.TRUE


def test_what_a_reason_means_is_told_where_it_is_ours() -> None:
    async def failed(chain: Chain) -> None:
        await chain.install(kinds.DNS_ENDPOINT)
        said = {"conditions": [condition("Ready", "False", "Failed", "Failed to sync: REFUSED")]}
        await chain.make(kinds.DNS_ENDPOINT, "a", said, spec={})

    hop = asked(failed, kinds.DNS_ENDPOINT, "a")
    assert hop.conditions[0].meaning
    assert hop.conditions[0].writer == "user"
    text = printed(hop)
    assert "Ready=False Failed: Failed to sync: REFUSED" in text
    assert hop.conditions[0].meaning in text
    assert "(5m, by user)" in text


class Guarded(Reader):
    """A reader to whom some kinds are closed."""

    def get(self, resource: Resource, key: Key) -> Raw | Missing | Forbidden:
        return Forbidden("no") if resource == kinds.GATEWAYS else super().get(resource, key)

    def all(self, having: Selection) -> list[Raw] | Missing | Forbidden:
        return Forbidden("no") if having.resource == kinds.POD else super().all(having)


def test_what_may_not_be_read_is_said_and_the_rest_is_explained() -> None:
    async def program() -> None:
        chain = Chain()
        await all_well(chain)
        hop = await explained(Guarded(chain.transport), kinds.HTTP_ROUTE, Key("default", "web"))
        hidden = [str(one) for one in hop.walk() if one.truth is Truth.HIDDEN]
        assert hidden == ["Gateway default/front", "Pod default/*"]
        assert root_cause(hop) is None
        assert "in what you may read (2 hidden)" in printed(hop)

    run(program())


def test_a_chain_that_closes_ends() -> None:
    async def ring(chain: Chain) -> None:
        for name, other in (("a", "b"), ("b", "a")):
            spec = {"type": "ExternalName", "externalName": f"{other}.default.svc.cluster.local"}
            await chain.make(kinds.SERVICE, name, spec=spec)

    hop = asked(ring, kinds.SERVICE, "a")
    assert [str(one) for one in hop.walk()] == ["Service default/a", "Service default/b", "Service default/a"]
    assert [one.repeated for one in hop.walk()] == [False, False, True]


@pytest.mark.parametrize(
    ("resource", "name", "words"),
    [
        (kinds.SERVICE, "nobody", "there is no Service default/nobody: kubectl get services -A shows them"),
        (
            kinds.WORKLOAD,
            "web",
            "this cluster has no workloads.score.dev: install it: seamark crds | kubectl apply -f -",
        ),
    ],
)
def test_an_object_that_is_not_there_gets_one_clear_line(resource: Resource, name: str, words: str) -> None:
    async def nothing(_chain: Chain) -> None:
        pass

    with pytest.raises(UserError) as caught:
        asked(nothing, resource, name)
    assert caught.value.message == words


@pytest.mark.parametrize("word", ["service", "services", "SVC", "Service"])
def test_a_kind_is_found_by_any_name_that_kubectl_takes(word: str) -> None:
    assert kinds.split(f"{word}/web") == (kinds.SERVICE, "web")


@pytest.mark.parametrize("word", ["web", "service/", "a/b/c", "unicorn/web"])
def test_an_argument_that_names_nothing_gets_one_clear_line(word: str) -> None:
    with pytest.raises(UserError):
        kinds.split(word)


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        ("2026-01-01T00:04:30Z", "30s"),
        ("2025-12-31T00:00:00Z", "24h"),
        ("2025-12-01T00:00:00Z", "31d"),
        ("1970-01-01T00:00:00Z", "default, not yet judged"),
        ("", ""),
    ],
)
def test_ages_are_as_kubectl_writes_them(since: str, shown: str) -> None:
    assert age(since, NOW) == shown


@pytest.mark.parametrize(
    ("body", "served"),
    [
        ({"reason": "NotFound", "message": "x", "details": {"name": "web", "kind": "greetings"}}, True),
        ({"reason": "NotFound", "message": 'the requested resource "web"', "details": {"name": "web"}}, True),
        ({"reason": "NotFound", "message": "x", "details": {}}, False),
        ("404 page not found", False),
    ],
)
def test_an_object_that_is_missing_is_told_from_a_kind_that_is_not_served(body: object, served: bool) -> None:
    class Answers(EmbeddedTransport):
        async def send(self, _request: HttpRequest) -> Answer:
            return Answer(404, body.encode() if isinstance(body, str) else json.dumps(body).encode())

    async def program() -> None:
        reader, key = Reader(Answers(Store(clock=CLOCK))), Key("default", "web")
        reader.get(kinds.EVENT, key)
        await reader.catch_up()
        assert reader.get(kinds.EVENT, key) == Missing(served)

    run(program())


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://web.shop:8080", [Key("shop", "web")]),
        ("web.shop:8080", [Key("shop", "web")]),
        ("http://Web.Shop.svc.cluster.local.", [Key("shop", "web")]),
        ("http://web.shop.", [Key("shop", "web")]),
        ("8080", []),
        ("http://example.com.evil:80", []),
        ("http://user:password@web.shop", []),
        ("http://[", []),
    ],
)
def test_an_upstream_names_the_service_that_the_agent_connects_to(url: str, named: list[Key]) -> None:
    raw: Raw = {"metadata": {"namespace": "default", "name": "a"}, "spec": {"url": "", "upstream": {"url": url}}}
    found = [link for link in agent_endpoint(raw) if isinstance(link, Reference) and link.resource == kinds.SERVICE]
    assert [link.key for link in found] == named


@pytest.mark.parametrize(
    ("kind", "condition"), [("Workload", "Ready"), ("Workload", "RuntimeReady"), ("WorkloadExposure", "Ready")]
)
def test_what_is_not_reached_is_not_explained_as_running(kind: str, condition: str) -> None:
    """The reason is also given where nothing was rendered, or nothing runs."""
    meaning = meanings()(kind, condition, "NetworkUnavailable")
    assert meaning
    assert not re.search(r"\bruns\b|\brunning\b", meaning)
