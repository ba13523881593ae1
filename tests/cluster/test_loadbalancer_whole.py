"""Services of type LoadBalancer, tried as a new user would: real control plane, Pods, agents and edge.

Rules are those of docs/spec/loadbalancer/service.md.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from seamark_cluster.network.closed import NODE
from tests.cluster.loadbalancer_world import (
    PATIENCE,
    SERVICES,
    TIMING,
    Balanced,
    balanced_cluster,
    by_tcp,
    by_tls,
    operating,
    peopled,
    reaches,
    services_recorded,
)
from tests.cluster.recorder import Recorder
from tests.cluster.requests import eventually, request
from tests.edge.tls import pair

DENY = {"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}
ALLOW = {"on_tcp_connect": [{"actions": [{"type": "restrict-ips", "config": {"allow": ["0.0.0.0/0", "::/0"]}}]}]}
CUSTOM = "shop.example.com"
WEB = {"name": "web", "port": 80, "targetPort": 3000}
WRONG_PORT = {"ports": [{**WEB, "targetPort": 3999}]}
REACHABLE = "k8s.ngrok.com/Reachable"
ASSIGNED = "k8s.ngrok.com/AddressAssigned"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balanced]:
    with balanced_cluster(tmp_path_factory.mktemp("balanced")) as one:
        yield one


def shown(recorder: Recorder, name: str) -> set[str]:
    """Every host that the status of a Service has ever shown."""
    states = [state for key, history in recorder.histories.items() if key[1] == name for state in history if state]
    entries: list[dict[str, Any]] = []
    for state in states:
        entries += ((state.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return {entry.get("hostname") or entry["ip"] for entry in entries}


def test_a_tcp_client_reaches_the_pod_and_everything_is_released(cluster: Balanced) -> None:
    """Rules 2 to 5, 9, 12, 20, failure 7 of others: from `kubectl apply` to an address, and to nothing left."""
    with operating(cluster):
        here = peopled(cluster, "tcp")
        here.serve()
        host, port = here.address()
        assert host == NODE
        eventually(lambda: reaches(by_tcp, host, port), "a TCP client reaches the Pod", PATIENCE)
        listing = here.machine.plane.kubectl("get", "svc", "echo", "-n", here.namespace)
        assert host in listing
        assert len(here.listed("agentendpoints")) == 1
        here.until_condition("agentendpoints", here.listed("agentendpoints")[0]["metadata"]["name"], "Ready", "True")
        assert here.reserved() == [f"{host}:{port}"]

        here.agents(0)  # no agent holds it any more: the endpoint reports that, and again when one does
        name = here.listed("agentendpoints")[0]["metadata"]["name"]
        assert here.until_condition("agentendpoints", name, "EndpointCreated", "False")["reason"] == "NoAgent"
        here.agents(2)
        here.until_condition("agentendpoints", name, "EndpointCreated", "True")
        eventually(lambda: reaches(by_tcp, host, port), "the Pod is reached again", PATIENCE)

        here.patch("services", "echo", {"spec": {"type": "ClusterIP", "loadBalancerClass": None}})
        eventually(lambda: not here.reserved() and not here.listed("agentendpoints"), "nothing is left", PATIENCE)
        eventually(lambda: "finalizers" not in here.get("services", "echo")["metadata"], "it is released", PATIENCE)
        assert not here.ingress()
        eventually(lambda: not here.get("services", "echo")["status"].get("conditions"), "nothing is said", PATIENCE)
        assert "k8s.ngrok.com/computed-url" not in here.get("services", "echo")["metadata"].get("annotations", {})

        here.serve("second")
        here.address("second")
        here.delete("services", "second")
        eventually(lambda: not here.get("services", "second"), "it is gone", PATIENCE)
        assert here.reserved() == []


def test_a_custom_domain_shows_its_cname_target_and_never_itself(cluster: Balanced) -> None:
    """Rules 13 to 17 and 21, failure 8 of others: a watch records every status that was ever shown."""
    with operating(cluster):
        here = peopled(cluster, "custom")
        with services_recorded(here.machine.plane, here.namespace) as recorder:
            here.serve("plain", {"url": f"tls://{CUSTOM}"})
            host, port = here.address("plain")
            assert host.endswith(".cname.edge.localhost")
            assert port == 443
            eventually(lambda: reaches(by_tls, here.edge, CUSTOM), "a TLS client reaches the Pod", PATIENCE)
            here.annotate("plain", mapping_strategy="endpoints-verbose")
            failures = []

            def switched() -> bool:
                failures.append(0 if reaches(by_tls, here.edge, CUSTOM) else 1)
                return len(here.listed("agentendpoints")) == 1 and len(here.listed("cloudendpoints")) == 1

            eventually(switched, "the endpoints are those of the other strategy", PATIENCE)
            assert sum(failures) == 0, f"{sum(failures)} of {len(failures)} clients were turned away"
            assert here.ingress("plain") == [(host, 443)]
            here.serve("managed", {"url": "tls://own.edge.localhost", "mapping-strategy": "endpoints-verbose"})
            assert here.address("managed") == ("own.edge.localhost", 443)
            eventually(lambda: reaches(by_tls, here.edge, "own.edge.localhost"), "so is the other", PATIENCE)
        assert shown(recorder, "plain") == {host}
        assert shown(recorder, "managed") == {"own.edge.localhost"}
        for name in ("plain", "managed"):
            here.delete("services", name)
        eventually(lambda: not here.listed("domains") and not here.listed("cloudendpoints"), "nothing left", PATIENCE)
        assert here.edge.api("GET", "/reserved_domains")[1]["reserved_domains"] == []
        assert [one for one in here.edge.api("GET", "/endpoints")[1]["endpoints"] if one["type"] == "cloud"] == []


def test_policies_and_source_ranges_take_effect_on_live_traffic(cluster: Balanced) -> None:
    """Rules 24 and 25: nothing opens before its policy is there; both must allow; the last good one stays."""
    with operating(cluster):
        here = peopled(cluster, "policies")
        here.serve("echo", {"traffic-policy": "guard"})
        here.until_heard("echo", "NgrokTrafficPolicy guard does not exist")
        assert here.listed("agentendpoints") == []
        here.policy("guard", ALLOW)
        host, port = here.address()
        eventually(lambda: reaches(by_tcp, host, port), "the client is let in", PATIENCE)
        here.policy("guard", DENY)
        eventually(lambda: not reaches(by_tcp, host, port), "the client is turned away", PATIENCE)
        here.policy("guard", ALLOW)
        eventually(lambda: reaches(by_tcp, host, port), "the client is let in again", PATIENCE)
        here.delete("ngroktrafficpolicies", "guard")
        name = here.listed("agentendpoints")[0]["metadata"]["name"]
        here.until_condition("agentendpoints", name, "TrafficPolicyApplied", "False")
        assert reaches(by_tcp, host, port)  # the last good one stays in force
        here.policy("guard", ALLOW)
        here.until_condition("agentendpoints", name, "TrafficPolicyApplied", "True")
        here.patch("services", "echo", {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}})
        eventually(lambda: not reaches(by_tcp, host, port), "a client from elsewhere is turned away", PATIENCE)
        here.patch("services", "echo", {"spec": {"loadBalancerSourceRanges": [f"{NODE}/32"]}})
        eventually(lambda: reaches(by_tcp, host, port), "a client from there is let in", PATIENCE)
        here.policy("guard", {"on_tcp_connect": [{"actions": [{"type": "brew-coffee"}]}]})
        here.until_heard("echo", "brew-coffee")
        assert reaches(by_tcp, host, port)  # what the edge refuses changes nothing that runs
        here.delete("services", "echo")
        eventually(lambda: not here.get("services", "echo"), "it is gone", PATIENCE)


def test_the_edge_goes_and_comes_back(cluster: Balanced) -> None:
    """Rule 30: what can't be verified any more is Unknown in time; the same address is there again afterwards."""
    with operating(cluster):
        here = peopled(cluster, "outage")
        here.serve()
        host, port = here.address()
        eventually(lambda: reaches(by_tcp, host, port), "a TCP client reaches the Pod", PATIENCE)
        name = here.listed("agentendpoints")[0]["metadata"]["name"]
        here.until_condition("agentendpoints", name, "Ready", "True")
        here.edge.kill()
        here.until_condition("agentendpoints", name, "Ready", "Unknown")
        here.until_condition("services", "echo", "k8s.ngrok.com/AddressAssigned", "Unknown")
        here.edge.start()
        here.until_condition("agentendpoints", name, "Ready", "True")
        here.until_condition("services", "echo", "k8s.ngrok.com/AddressAssigned", "True")
        assert here.ingress() == [(host, port)]
        eventually(lambda: reaches(by_tcp, host, port), "the Pod is reached again", PATIENCE)
        here.delete("services", "echo")
        eventually(lambda: not here.get("services", "echo"), "it is gone", PATIENCE)
        assert here.reserved() == []


def test_an_outage_with_a_restart_in_the_middle_removes_no_address(cluster: Balanced) -> None:
    """Rule 30: far longer than the edge's response is relied on, before and after the restart."""
    here = peopled(cluster, "silent")
    with operating(cluster):
        here.serve("plain")
        here.serve("custom", {"url": f"tls://{CUSTOM}"})
        here.serve("own", {"url": "tls://own.edge.localhost", "mapping-strategy": "endpoints-verbose"})
        before = {name: [here.address(name)] for name in ("plain", "custom", "own")}
        targets = [domain["status"].get("cnameTarget") for domain in here.listed("domains")]
        for name in before:
            here.until_condition("services", name, ASSIGNED, "True")
        recorder = Recorder(here.machine.plane, SERVICES, here.namespace)
        recorder.start()
        here.edge.kill()
        said = {name: here.until_condition("services", name, ASSIGNED, "Unknown") for name in before}
    with operating(cluster):
        time.sleep(2 * TIMING.shelf_life)
        assert {name: here.condition("services", name, ASSIGNED) for name in before} == said
        for condition in said.values():
            assert condition["reason"] == "NotVerified"
            assert f"since {condition['lastTransitionTime']}" in condition["message"]
        assert {name: here.ingress(name) for name in before} == before
        assert [domain["status"].get("cnameTarget") for domain in here.listed("domains")] == targets
        here.edge.start()
        for name in before:
            here.until_condition("services", name, ASSIGNED, "True")
        assert {name: here.ingress(name) for name in before} == before
        recorder.stop()
        for name, addresses in before.items():
            assert shown(recorder, name) == {host for host, _ in addresses}
            assert not emptied(recorder, name)
            here.delete("services", name)
        eventually(lambda: not here.listed("domains") and not here.listed("agentendpoints"), "nothing left", PATIENCE)


def test_reachable_is_true_only_while_a_client_gets_through(cluster: Balanced) -> None:
    """Rule 34: each kind of break makes it False in time, with the cause, and the end of it True again."""
    with operating(cluster):
        here = peopled(cluster, "reach", agents=0)
        here.serve("echo")
        host, port = here.address()
        time.sleep(2)
        assert here.condition("services", "echo", REACHABLE)["status"] != "True"  # no agent has ever been there
        here.agents(1)
        here.until_condition("services", "echo", REACHABLE, "True")
        assert reaches(by_tcp, host, port)
        here.serve("verbose", {"mapping-strategy": "endpoints-verbose"})
        here.until_condition("services", "verbose", REACHABLE, "True")
        assert reaches(by_tcp, *here.address("verbose"))
        took = {}
        for name, wrong in (("no ready Pod", {"selector": {"app": "nobody"}}), ("wrong targetPort", WRONG_PORT)):
            began = time.monotonic()
            for service in ("echo", "verbose"):
                here.patch("services", service, {"spec": wrong})
            for service in ("echo", "verbose"):
                said = here.until_condition("services", service, REACHABLE, "False")
                assert said["reason"] == "UpstreamUnreachable", said
            took[name] = time.monotonic() - began
            assert not reaches(by_tcp, host, port)
            assert here.condition("services", "echo", ASSIGNED)["status"] == "True"  # that is another claim
            for service in ("echo", "verbose"):
                here.patch("services", service, {"spec": {"selector": {"app": "echo"}, "ports": [WEB]}})
                here.until_condition("services", service, REACHABLE, "True")
        began = time.monotonic()
        here.agents(0)
        said = here.until_condition("services", "echo", REACHABLE, "False")
        assert said["reason"] == "NoAgent", said
        here.until_condition("services", "verbose", REACHABLE, "False")
        took["no agent"] = time.monotonic() - began
        here.agents(1)
        here.until_condition("services", "echo", REACHABLE, "True")
        began = time.monotonic()
        os.kill(cluster.edge.process.pid, signal.SIGSTOP)
        try:
            here.until_condition("services", "echo", REACHABLE, "Unknown")
        finally:
            os.kill(cluster.edge.process.pid, signal.SIGCONT)
        took["the edge is frozen"] = time.monotonic() - began
        here.until_condition("services", "echo", REACHABLE, "True")
        print("seconds from a break to not True:", {name: round(seconds, 1) for name, seconds in took.items()})  # noqa: T201
        assert max(took.values()) < 15
        for service in ("echo", "verbose"):
            here.delete("services", service)
        eventually(lambda: not here.reserved(), "the addresses are released", PATIENCE)


def test_an_agent_endpoint_names_the_secret_that_keeps_agents_from_holding_it(cluster: Balanced) -> None:
    """Rule 11 of AgentEndpoint: missing, then without a usable certificate, then there."""
    with operating(cluster):
        here = peopled(cluster, "secrets")
        host = f"{here.namespace}.edge.localhost"
        here.terminating("web", f"tls://{host}", secret="later")
        for certificate, key, cause in (
            (b"", b"", "the Secret later does not exist"),
            (b"none", b"none", "its key in the Secret later can't be used"),
        ):
            if certificate:
                here.secret("later", certificate, key)

            def named(cause: str = cause) -> bool:
                created = here.condition("agentendpoints", "web", "EndpointCreated")
                return created.get("status") == "False" and cause in created["message"]

            eventually(named, cause, PATIENCE)
            assert here.condition("agentendpoints", "web", "Ready")["status"] == "False"
        here.secret("later", *pair(host))
        here.until_condition("agentendpoints", "web", "EndpointCreated", "True")
        here.delete("agentendpoints", "web")


def emptied(recorder: Recorder, name: str) -> bool:
    """Whether the status has ever been without an address after it had one."""
    states = [state for key, history in recorder.histories.items() if key[1] == name for state in history if state]
    there = [bool(((state.get("status") or {}).get("loadBalancer") or {}).get("ingress")) for state in states]
    return not all(there)


def test_another_class_is_never_touched_and_every_port_is_served(cluster: Balanced) -> None:
    """Rules 1 and 18, failure 9 of others: one set of endpoints for each TCP port, words for the others."""
    with operating(cluster):
        here = peopled(cluster, "ports")
        before = here.serve("theirs", None, loadBalancerClass="somebody-else")
        web = {"name": "web", "port": 80, "targetPort": 3000}
        ports = [web, {**web, "name": "again", "port": 81}, {"name": "dns", "port": 53, "protocol": "UDP"}]
        here.serve("many", None, ports=ports)
        here.address("many", ports=2)
        for host, port in here.ingress("many"):
            eventually(lambda host=host, port=port: reaches(by_tcp, host, port), f"{port} is reached", PATIENCE)  # type: ignore[misc]
        here.until_heard("many", "53/UDP")
        assert len(here.reserved()) == 2
        assert (
            request(here.machine.plane, "GET", here.path("services", "theirs")).body["metadata"] == before["metadata"]
        )
        here.delete("services", "many")
        eventually(lambda: not here.reserved(), "both addresses are released", PATIENCE)
