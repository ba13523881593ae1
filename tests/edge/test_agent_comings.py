"""Agents come, go, and come back: the wire is cut, the edge restarts, the API or a revoked token ends them."""

from __future__ import annotations

import pytest

from tests.edge.driving import Start, connected, every_sdk, listed
from tests.edge.running import RunningEdge
from tests.edge.services import (
    Wire,
    dial,
    eventually,
    read_all,
    says,
    service,
)


@every_sdk
def test_a_bad_token_is_told(edge: RunningEdge, agents: Start, sdk: str) -> None:
    answer = agents(sdk).ask("connect", **{**edge.connection(), "token": "cr_wrong"})
    assert "ERR_NGROK_107" in answer["error"]


@every_sdk
def test_a_taken_url_is_told_and_free_again_after_it_closes(edge: RunningEdge, agents: Start, sdk: str) -> None:
    first, second = connected(agents, sdk, edge), connected(agents, sdk, edge)
    with service(says(b"first")) as upstream:
        made = first.must("forward", url="tcp://", upstream=f"tcp://{upstream}")
        answer = second.ask("forward", url=made["url"], upstream=f"tcp://{upstream}")
        assert "ERR_NGROK_334" in answer["error"]
        first.must("close", id=made["id"])
        eventually(
            lambda: "error" not in second.ask("forward", url=made["url"], upstream=f"tcp://{upstream}"),
            "the address is free again",
        )


@every_sdk
def test_an_agent_that_reconnects_gets_its_address_back(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent, wire = agents(sdk), Wire(edge.address)
    try:
        agent.must("connect", **{**edge.connection(), "address": wire.address})
        with service(says(b"same place")) as upstream:
            url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
            (before,) = listed(edge, url)
            wire.cut()

            def again() -> bool:
                found = listed(edge, url)
                return bool(found) and found[0]["tunnel_session"] != before["tunnel_session"]

            eventually(again, "the endpoint is back at its address", 30, lambda: edge.log[-3000:])
            with dial(url) as client:
                assert read_all(client) == b"same place"
    finally:
        wire.close()


@every_sdk
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_an_address_is_kept_over_a_restart_of_the_edge(
    own_edge: RunningEdge, agents: Start, sdk: str, end: str
) -> None:
    """The way to the edge is there all the time, as behind a load balancer: the Python SDK's third try would come
    after two minutes only."""
    agent, wire = agents(sdk), Wire(own_edge.address)
    try:
        agent.must("connect", **{**own_edge.connection(), "address": wire.address})
        with service(says(b"same place")) as upstream:
            url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
            getattr(own_edge, end)()
            own_edge.start()

            def again() -> bool:
                with dial(url, 2) as client:
                    return read_all(client) == b"same place"

            eventually(again, "the endpoint is back at its address", 60, lambda: own_edge.log)
    finally:
        wire.close()


@every_sdk
def test_an_agents_endpoint_can_be_seen_and_stopped_through_the_api(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", metadata=f"of {sdk}")["url"]
        (seen,) = listed(edge, url)
        assert (seen["type"], seen["metadata"], seen["bindings"]) == ("agent", f"of {sdk}", ["public"])
        status, session = edge.api("GET", f"/tunnel_sessions/{seen['tunnel_session']['id']}")
        assert (status, session["client_type"]) == (200, "seamark-agent" if sdk == "seamark" else f"ngrok-{sdk}")
        assert edge.api("DELETE", f"/endpoints/{seen['id']}")[0] == 204
        assert listed(edge, url) == []
        with pytest.raises(ConnectionRefusedError):
            dial(url)


def test_a_go_agent_can_be_told_to_stop(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "go", edge)
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        session = listed(edge, url)[0]["tunnel_session"]["id"]
        assert edge.api("POST", f"/tunnel_sessions/{session}/stop")[0] == 204
        eventually(lambda: edge.api("GET", f"/tunnel_sessions/{session}")[0] == 404, "the agent left")


def test_an_agent_that_is_told_to_restart_comes_back_at_its_address(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "seamark", edge)
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        session = listed(edge, url)[0]["tunnel_session"]["id"]
        assert edge.api("POST", f"/tunnel_sessions/{session}/restart")[0] == 204

        def back() -> bool:
            found = listed(edge, url)
            return bool(found) and found[0]["tunnel_session"]["id"] != session

        eventually(back, "the agent is back", 30)
        assert edge.api("POST", f"/tunnel_sessions/{listed(edge, url)[0]['tunnel_session']['id']}/update")[0] == 409


def test_a_revoked_token_ends_its_sessions(edge: RunningEdge, agents: Start) -> None:
    _, made = edge.api("POST", "/credentials", {"description": "short-lived", "max_endpoints": 1})
    agent = agents("python")
    agent.must("connect", **{**edge.connection(), "token": made["token"]})
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        assert "ERR_NGROK_324" in agent.ask("forward", url="tcp://", upstream=f"tcp://{upstream}")["error"]
        assert edge.api("DELETE", f"/credentials/{made['id']}")[0] == 204
        eventually(lambda: listed(edge, url) == [], "its endpoint went offline")
