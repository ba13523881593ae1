"""Host names of a running edge belong to the authtoken that has them."""

from __future__ import annotations

import asyncio

import pytest

from seamark_edge.edge.places import DOMAIN
from seamark_edge.store.opening import open_file
from seamark_edge.store.record import Record
from tests.edge.driving import Start, connected, fetch, listed
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import eventually, says, service

TERMINATE = '{"on_tcp_connect":[{"actions":[{"type":"terminate-tls"}]}]}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"


def other_owner(edge: RunningEdge, agents: Start) -> AgentProgram:
    """An agent with an authtoken of its own."""
    status, made = edge.api("POST", "/credentials", {"description": "another owner"})
    assert status == 201
    agent = agents("seamark")
    agent.must("connect", **{**edge.connection(), "token": made["token"]})
    return agent


def test_another_owner_gets_no_connection_of_a_name_by_another_scheme_or_a_wildcard(
    edge: RunningEdge, agents: Start
) -> None:
    owner, other = connected(agents, "seamark", edge), other_owner(edge, agents)
    with service(says(ANSWER + b"mine")) as mine, service(says(ANSWER + b"evil")) as evil:
        name = "private.names.edge.localhost"
        held = owner.must("forward", url=f"https://{name}", upstream=f"http://{mine}")["url"]
        took = other.ask("forward", url=f"tls://{name}", upstream=f"tcp://{evil}", policy=TERMINATE)
        assert "ERR_NGROK_334" in took["error"] or "already online" in took["error"]
        other.must("forward", url="tls://*.names.edge.localhost", upstream=f"tcp://{evil}", policy=TERMINATE)
        assert all(fetch(held, edge).endswith(b"mine") for _ in range(5))
        assert fetch(held.replace("private", "free"), edge).endswith(b"evil")


def test_the_plain_requests_of_a_host_reach_nobody_but_the_owner_of_its_https_endpoint(
    own_edge: RunningEdge, agents: Start
) -> None:
    """Rules 1 and 11 of docs/spec/loadbalancer/places.md."""
    owner, other = connected(agents, "seamark", own_edge), other_owner(own_edge, agents)
    with service(says(ANSWER + b"mine")) as mine, service(says(ANSWER + b"evil")) as evil:
        held = owner.must("forward", url="https://b.plain.edge.localhost", upstream=f"http://{mine}")["url"]
        wildcard = other.must("forward", url="http://*.plain.edge.localhost", upstream=f"http://{evil}")["url"]
        for name in ("b", "unknown.b"):
            answer = fetch(wildcard.replace("*", name), own_edge)
            assert answer.startswith(b"HTTP/1.1 404 ")
            assert f"the endpoint http://{name}.plain.edge.localhost is offline\n\nERR_NGROK_3200".encode() in answer
        for scheme in ("http", "tls"):
            taken = other.ask("forward", url=f"{scheme}://b.plain.edge.localhost", upstream=f"tcp://{evil}")
            assert "ERR_NGROK_334" in taken["error"] or "already online" in taken["error"]
        owner.kill()
        eventually(lambda: not listed(own_edge, held), "its endpoint is offline")
        assert "kept" in other.ask("forward", url="http://b.plain.edge.localhost", upstream=f"tcp://{evil}")["error"]
        assert b"evil" not in fetch(wildcard.replace("*", "b"), own_edge)
        assert fetch(wildcard.replace("*", "free"), own_edge).endswith(b"evil")


def test_a_host_below_the_wildcard_of_another_owner_can_not_be_taken(own_edge: RunningEdge, agents: Start) -> None:
    owner, other = connected(agents, "seamark", own_edge), other_owner(own_edge, agents)
    with service(says(ANSWER + b"mine")) as mine, service(says(ANSWER + b"evil")) as evil:
        url = owner.must("forward", url="tls://*.wild.edge.localhost", upstream=f"tcp://{mine}", policy=TERMINATE)[
            "url"
        ].replace("*", "c")
        taken = other.ask("forward", url="tls://c.wild.edge.localhost", upstream=f"tcp://{evil}", policy=TERMINATE)
        assert "below a wildcard" in taken["error"]
        assert fetch(url.replace("tls://", "https://"), own_edge).endswith(b"mine")
        owner.must("forward", url="tls://c.wild.edge.localhost", upstream=f"tcp://{mine}", policy=TERMINATE)


def test_a_name_is_kept_for_its_owner_also_over_a_restart_of_the_edge(own_edge: RunningEdge, agents: Start) -> None:
    url = "http://shop.edge.localhost"
    owner = connected(agents, "seamark", own_edge)
    with service(says(ANSWER + b"mine")) as mine:
        owner.must("forward", url=url, upstream=f"http://{mine}")
        owner.kill()
        eventually(lambda: own_edge.api("GET", "/endpoints")[1]["endpoints"] == [], "its endpoint is offline")
        other = other_owner(own_edge, agents)
        assert "kept" in other.ask("forward", url=url, upstream=f"http://{mine}")["error"]
        other.kill()
        own_edge.kill()
        own_edge.start()
        assert "kept" in other_owner(own_edge, agents).ask("forward", url=url, upstream=f"http://{mine}")["error"]
        connected(agents, "seamark", own_edge).must("forward", url=url, upstream=f"http://{mine}")


OWN = (
    "cname.edge.localhost",
    "4b0a4769460e915b52ae.cname.edge.localhost",
    "*.cname.edge.localhost",
    "*.edge.localhost",
)
KEPT = "is kept by the edge for itself"


@pytest.mark.parametrize("host", OWN)
def test_nobody_gets_a_cname_target_or_the_wildcard_of_the_edges_domain_by_any_way_in(
    edge: RunningEdge, agents: Start, host: str
) -> None:
    """Places rule 10."""
    agent = connected(agents, "seamark", edge)
    with service(says(ANSWER + b"evil")) as evil:
        for scheme in ("http", "https", "tls"):
            assert KEPT in agent.ask("forward", url=f"{scheme}://{host}", upstream=f"tcp://{evil}")["error"]
            status, answer = edge.api("POST", "/endpoints", {"type": "cloud", "url": f"{scheme}://{host.upper()}."})
            assert (status, KEPT in answer["msg"]) == (403, True)
        status, answer = edge.api("POST", "/reserved_domains", {"domain": host})
        assert (status, answer["error_code"], KEPT in answer["msg"]) == (403, "ERR_NGROK_320", True)
        status, made = edge.api("POST", "/endpoints", {"type": "cloud", "url": "https://moving.edge.localhost"})
        assert status == 201
        status, answer = edge.api("PATCH", f"/endpoints/{made['id']}", {"url": f"https://{host}"})
        assert (status, KEPT in answer["msg"]) == (403, True)
        assert edge.api("DELETE", f"/endpoints/{made['id']}")[0] == 204


def test_a_name_of_the_edges_own_that_an_earlier_version_reserved_is_given_back(own_edge: RunningEdge) -> None:
    """Places rule 10."""
    own_edge.stop()
    store = open_file(own_edge.state / "edge.db")
    for number, name in enumerate(("*.edge.localhost", "shop.example.test")):
        asyncio.run(store.put(Record(DOMAIN, f"rd_{number}", {"domain": name}, "", name)))
    asyncio.run(store.close())
    own_edge.start()
    domains = own_edge.api("GET", "/reserved_domains")[1]["reserved_domains"]
    assert [one["domain"] for one in domains] == ["shop.example.test"]


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "x.internal", "*.internal", "com", "LOCALHOST."])
def test_what_can_never_be_served_is_not_reserved(edge: RunningEdge, host: str) -> None:
    """Places rule 14."""
    status, answer = edge.api("POST", "/reserved_domains", {"domain": host})
    assert (status, host.lower().rstrip(".") in answer["msg"]) == (400, True)
