"""One Envoy's side of delta xDS: what is sent when."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from envoy.config.route.v3 import route_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.rpc import status_pb2  # type: ignore[import-untyped]  # it comes without types

from seamark_edge.dataplane.envoy.probe import ProbeToken
from seamark_edge.dataplane.envoy.resources import CDS, EDS, LDS, RDS
from seamark_edge.dataplane.envoy.routes import GatewayTable, table
from seamark_edge.dataplane.envoy.session import NOT_VALID, Prepared, Session, plain
from seamark_edge.dataplane.model import (
    Chain,
    Cluster,
    Endpoints,
    Entry,
    Forward,
    Listener,
    Match,
    Origin,
    RouteTable,
    Snapshot,
    Target,
    VirtualHost,
)

Request = discovery_pb2.DeltaDiscoveryRequest
Response: TypeAlias = discovery_pb2.DeltaDiscoveryResponse


def snapshot(cluster: str, address: str = "10.0.0.1", protocol: str = "http1") -> Snapshot:
    entry = Entry(Match(), Forward((Target(cluster),)), Origin("HTTPRoute", "default", "route"))
    return Snapshot(
        listeners={"80": Listener("80", ("127.0.0.1",), 80, (Chain("http", table="http"),))},
        tables={"http": RouteTable("http", (VirtualHost(("*",), (entry,)),))},
        clusters={cluster: Cluster(cluster, protocol)},
        endpoints={cluster: Endpoints(cluster, ((address, 80),))},
    )


class Envoy:
    """Answers as Envoy does: it asks for the endpoints of each cluster and the table of each listener."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asked: dict[str, set[str]] = {EDS: set(), RDS: set()}
        self.log: list[str] = []
        for url in (CDS, LDS):
            session.received(Request(type_url=url, resource_names_subscribe=["*"]))

    def settle(self) -> list[str]:
        """Takes everything until nothing more comes; what was sent, in order."""
        self.log = []
        while responses := self.session.responses():
            for response in responses:
                self.take(response)
        return self.log

    def take(self, response: Response) -> None:
        name = response.type_url.rpartition(".")[2]
        self.log += [f"+{name} {one.name}" for one in response.resources]
        self.log += [f"-{name} {one}" for one in response.removed_resources]
        self.session.received(Request(type_url=response.type_url, response_nonce=response.nonce))
        if response.type_url == CDS:
            self.ask(EDS, [one.name for one in response.resources], list(response.removed_resources))
        if response.type_url == LDS and response.resources:
            self.ask(RDS, ["http"], [])

    def ask(self, url: str, names: list[str], gone: list[str]) -> None:
        new = [name for name in names if name not in self.asked[url]]
        self.asked[url].update(new)
        self.asked[url].difference_update(gone)
        if new or gone:
            request = Request(type_url=url, resource_names_subscribe=new, resource_names_unsubscribe=gone)
            self.session.received(request)


def aimed(session: Session, one: Snapshot) -> None:
    session.aim(Prepared(one).after(session.target))


def refuse(session: Session, response: Response, message: str) -> None:
    session.received(
        Request(
            type_url=response.type_url, response_nonce=response.nonce, error_detail=status_pb2.Status(message=message)
        )
    )


def test_clusters_and_who_is_behind_them_come_before_listeners_and_routes() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    envoy = Envoy(session)
    assert envoy.settle() == [
        "+Cluster a",
        "+ClusterLoadAssignment a",
        "+Listener 80",
        "+RouteConfiguration http",
    ]
    assert session.done


def test_a_cluster_goes_only_when_no_route_uses_it_any_more() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    envoy = Envoy(session)
    envoy.settle()
    aimed(session, snapshot("b"))
    assert envoy.settle() == [
        "+Cluster b",
        "+ClusterLoadAssignment b",
        "+RouteConfiguration http",
        "-Cluster a",
    ]
    assert session.done


def test_a_changed_cluster_gets_its_endpoints_again() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    envoy = Envoy(session)
    envoy.settle()
    aimed(session, snapshot("a", protocol="http2"))
    assert envoy.settle() == ["+Cluster a", "+ClusterLoadAssignment a"]
    assert session.done


def test_changed_endpoints_touch_nothing_else() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    envoy = Envoy(session)
    envoy.settle()
    aimed(session, snapshot("a", address="10.0.0.2"))
    assert envoy.settle() == ["+ClusterLoadAssignment a"]


def test_sent_is_not_taken() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    Envoy(session)
    [response] = session.responses()
    assert response.type_url == CDS
    assert not session.responses(), "nothing more is sent before Envoy has answered"
    assert not session.done


def test_after_a_refusal_nothing_is_sent_until_something_changes() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    Envoy(session)
    [response] = session.responses()
    refuse(session, response, "no such thing")
    assert session.refusal is not None
    assert (session.refusal.message, session.refusal.resources) == ("no such thing", ("a",))
    assert session.responses() == []
    assert not session.done
    aimed(session, snapshot("b"))
    assert [one.name for one in session.responses()[0].resources] == ["b"]


def test_what_was_refused_is_sent_again_when_it_goes_back_to_what_it_was() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    envoy = Envoy(session)
    envoy.settle()
    aimed(session, snapshot("a", protocol="http2"))
    response, endpoints = session.responses()
    refuse(session, response, "no")
    envoy.take(endpoints)
    aimed(session, snapshot("a"))
    assert "+Cluster a" in envoy.settle()
    assert session.done


def test_an_envoy_that_comes_back_is_told_everything() -> None:
    first = Session()
    aimed(first, snapshot("a"))
    Envoy(first).settle()
    again = Session()
    assert first.target is not None
    again.aim(first.target)
    assert len(Envoy(again).settle()) == 4


def test_what_did_not_change_is_not_put_into_envoys_words_again() -> None:
    before = Prepared(snapshot("a"))
    kept = before.packed(RDS, "http")
    after = Prepared(snapshot("a", address="10.0.0.9")).after(before)
    assert after.packed(RDS, "http") is kept


def test_that_there_is_nothing_is_said_too() -> None:
    """Envoy waits fifteen seconds for its first clusters and listeners, even if there are none."""
    session = Session()
    aimed(session, Snapshot())
    envoy = Envoy(session)
    [clusters, listeners] = session.responses()
    assert (clusters.type_url, listeners.type_url) == (CDS, LDS)
    assert not clusters.resources
    for response in (clusters, listeners):
        envoy.take(response)
    assert session.done
    assert session.responses() == []


def test_a_table_put_together_from_its_hosts_reads_as_one() -> None:
    one = snapshot("a").tables["http"]
    many = RouteTable("http", (*one.hosts, VirtualHost(("long.example.com",), one.hosts[0].entries * 50)))
    read = route_pb2.RouteConfiguration.FromString(table(GatewayTable("uid", many)))
    assert read.name == "http"
    assert read.ignore_port_in_host_matching
    probed = ProbeToken.of("uid", "http").host
    assert [list(host.domains) for host in read.virtual_hosts] == [[probed], ["*"], ["long.example.com"]]
    assert [len(host.routes) for host in read.virtual_hosts] == [1, 1, 50]


def test_an_envoy_gets_its_tables_anew_when_its_gateway_was_deleted_and_made_again() -> None:
    """The same routes, but another answer to probes."""
    session = Session()
    first = replace(snapshot("a"), uid="first")
    aimed(session, first)
    envoy = Envoy(session)
    while responses := session.responses():
        for response in responses:
            envoy.take(response)
    assert session.done
    aimed(session, replace(first, uid="second"))
    [tables] = session.responses()
    assert tables.type_url == RDS


def test_what_was_refused_is_sent_again_with_the_next_target_though_it_is_the_same() -> None:
    """Envoy may have had a passing reason: an address that another process had not left yet."""
    session = Session()
    aimed(session, snapshot("a"))
    Envoy(session)
    clusters = session.responses()[0]
    refuse(session, clusters, "not now")
    assert session.refusal is not None
    assert session.responses() == []
    aimed(session, snapshot("a"))
    assert [one.name for response in session.responses() for one in response.resources] == ["a"]


def test_a_resource_that_can_not_be_encoded_counts_as_refused() -> None:
    session = Session()
    good = snapshot("a")
    aimed(session, replace(good, endpoints={"a": Endpoints("a", (("10.0.0.1", 2**40),))}))
    envoy = Envoy(session)
    assert envoy.settle() == ["+Cluster a"]
    assert session.refusal is not None
    assert session.refusal.resources == ("a",)
    aimed(session, good)
    assert "+RouteConfiguration http" in envoy.settle()
    assert session.done


def test_what_envoy_has_of_an_earlier_stream_is_sent_again_or_removed() -> None:
    session = Session()
    for url, names in ((CDS, ("a", "gone")), (LDS, ("80", "81"))):
        has = dict.fromkeys(names, "7")
        session.received(Request(type_url=url, resource_names_subscribe=["*"], initial_resource_versions=has))
    session.received(Request(type_url=EDS, resource_names_subscribe=["a"], initial_resource_versions={"a": "7"}))
    session.received(Request(type_url=RDS, resource_names_subscribe=["http"], initial_resource_versions={"http": "7"}))
    session.aim(Prepared(snapshot("a")))
    sent: list[str] = []
    while responses := session.responses():
        assert not session.done
        for response in responses:
            name = response.type_url.rpartition(".")[2]
            sent += [f"+{name} {one.name}" for one in response.resources]
            sent += [f"-{name} {one}" for one in response.removed_resources]
            session.received(Request(type_url=response.type_url, response_nonce=response.nonce))
    assert sorted(sent[:2]) == ["+Cluster a", "+ClusterLoadAssignment a"]
    assert sorted(sent[2:-2]) == ["+Listener 80", "+RouteConfiguration http"]
    assert sent[-2:] == ["-Listener 81", "-Cluster gone"]
    assert session.done


def test_an_error_names_its_cause_and_nothing_else_of_the_resource() -> None:
    """Envoy prints the whole resource before some errors: values of all routes are in it."""
    resource = 'goo.gle/debugonly  \nname: "http"\nvirtual_hosts {\n  value: "secret ) \\n cause: x"\n}\n'
    assert plain(f"{resource}: Proto constraint validation failed (Value: no match)") == (
        f"{NOT_VALID}: Proto constraint validation failed (Value: no match"
    )
    assert plain(f"{resource[:60]}...(truncated)") == NOT_VALID
    assert plain("regex '/(' missing )") == "regex '/(' missing )"


def test_a_refusal_is_complete_when_everything_that_was_sent_has_an_answer() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    Envoy(session).settle()
    both = snapshot("a")
    listener = replace(both.listeners["80"], port=81)
    aimed(session, replace(both, listeners={"80": listener}, tables={"http": RouteTable("http", ())}))
    first, second = session.responses()
    refuse(session, first, "no such port")
    assert session.refused is None, "the other response may be refused, too"
    refuse(session, second, "no such table")
    assert session.refused is not None
    assert session.refused.message == "no such port; no such table"
    assert set(session.refused.resources) == {"80", "http"}


def test_a_refusal_of_what_is_not_wanted_any_more_does_not_count_for_what_is() -> None:
    session = Session()
    aimed(session, snapshot("a"))
    Envoy(session).settle()
    aimed(session, replace(snapshot("a"), tables={"http": RouteTable("http", ())}))
    [late] = session.responses()
    aimed(session, snapshot("a"))
    refuse(session, late, "no such table")
    assert session.refused is None
    assert [each.type_url for each in session.responses()] == [RDS], "what Envoy has now is not known: it is sent again"
