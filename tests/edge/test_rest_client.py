"""The official REST client, unmodified, and the API's manners towards anybody else."""

from __future__ import annotations

import http.client
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.edge.running import RunningEdge
from tests.edge.sdks import HERE, REST_CLIENT, python_of
from tests.edge.tls import pair


@pytest.fixture(scope="module")
def seen(edge: RunningEdge, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the official client saw in one session of work."""
    directory: Path = tmp_path_factory.mktemp("pair")
    certificate, key = pair("app.example.com")
    (directory / "cert.pem").write_bytes(certificate)
    (directory / "key.pem").write_bytes(key)
    told = {
        "url": edge.api_url,
        "key": edge.api_key,
        "certificate": str(directory / "cert.pem"),
        "private_key": str(directory / "key.pem"),
    }
    done = subprocess.run(
        [str(python_of(*REST_CLIENT)), str(HERE / "api_client.py")],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_addresses_are_reserved_paged_changed_and_released(edge: RunningEdge, seen: dict[str, Any]) -> None:
    told = seen["addresses"]
    assert len(set(told["addrs"])) == 5
    assert all(addr.startswith("127.0.0.1:") for addr in told["addrs"])
    assert told["paged"] == list(reversed(told["made"]))
    assert (told["changed"], told["kept"]) == ("changed", "of the test")
    assert told["uri"] == f"{edge.api_url}/reserved_addrs/{told['made'][0]}"
    assert told["gone"] == ["not found", 404, "ERR_NGROK_404"]
    assert told["chosen"] == [told["made"][3]]
    assert told["chosen_over_pages"] == list(reversed(told["made"][1:]))  # the next pages keep the filter
    assert (told["no_filter"][1], told["no_field"][1]) == (400, 400)


def test_domains_and_certificates(seen: dict[str, Any]) -> None:
    told = seen["domains"]
    assert told["cname"].endswith(".cname.edge.localhost")
    assert (told["own_cname"], told["certificate"], told["detached"], told["managed"]) == (None, True, None, None)
    assert (told["subject"], told["names"]) == ("app.example.com", ["app.example.com"])
    assert (told["taken"][1], told["in_use"][1]) == (409, 409)


def test_cloud_endpoints(seen: dict[str, Any]) -> None:
    told = seen["endpoints"]
    assert (told["type"], told["policy"], told["listed"], told["at_its_address"]) == ("cloud", True, True, True)
    assert told["taken"] == ["error", 409, "ERR_NGROK_334"]
    assert told["bad"] == ["error", 400, "ERR_NGROK_2201"]
    assert told["changed"] == "still closed"
    assert told["gone"][0] == "not found"


def test_ip_policies_and_rules(seen: dict[str, Any]) -> None:
    told = seen["ranges"]
    assert (told["cidr"], told["policy"], told["changed"]) == ("192.0.2.0/24", True, "198.51.100.0/24")
    assert (told["bad"][1], told["rule_gone"][0]) == (400, "not found")


def test_keys_and_credentials_show_their_secret_once(seen: dict[str, Any]) -> None:
    assert seen["new_key"] is None
    assert seen["credential"] == [["bind:*.edge.localhost"], True, None]
    assert seen["stranger"] == ["error", 401, "ERR_NGROK_202"]


def test_a_key_that_may_only_read_cant_change_anything(edge: RunningEdge) -> None:
    _, key = edge.api("POST", "/api_keys", {"rights": "read"})
    assert edge.api("GET", "/reserved_addrs", key=key["token"])[0] == 200
    status, body = edge.api("POST", "/reserved_addrs", {}, key=key["token"])
    assert (status, body["error_code"]) == (403, "ERR_NGROK_208")
    assert set(body) == {"error_code", "status_code", "msg", "details"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/reserved_addrs/..%2f..%2fetc", b"", 404),
        ("/reserved_addrs/%00%ff", b"", 404),
        ("/nothing/at/all/here", b"", 404),
        ("/reserved_addrs", b"[" * 100_000, 400),
        ("/reserved_addrs", b'{"description":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001, 400),
        ("/reserved_addrs", b'{"description": 7}', 400),
        ("/reserved_addrs", b'{"description": "\xff"}', 400),
        ("/reserved_addrs", b'{"metadata": "' + b"x" * 5000 + b'"}', 400),
        ("/reserved_addrs", b"x" * 2_000_000, 413),
        ("/reserved_domains", b'{"domain": "a b.example.com"}', 400),
        ("/endpoints", b'{"url": "gopher://x"}', 400),
    ],
)
def test_odd_requests_get_a_clear_answer(edge: RunningEdge, path: str, body: bytes, status: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", edge.ports["api_port"], timeout=10)
    try:
        connection.request("POST" if body else "GET", path, body, {"authorization": f"Bearer {edge.api_key}"})
        answer = connection.getresponse()
        told = json.loads(answer.read())
        assert (answer.status, told["status_code"]) == (status, status)
        assert told["msg"]
    finally:
        connection.close()


def test_a_caller_over_its_budget_is_told_when_to_come_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    limited = RunningEdge(tmp_path_factory.mktemp("limited") / "state", requests_per_minute=5)
    try:
        statuses = [limited.api("GET", "/api_keys")[0] for _ in range(6)]
        assert statuses == [200] * 5 + [429]
        connection = http.client.HTTPConnection("127.0.0.1", limited.ports["api_port"], timeout=10)
        connection.request("GET", "/api_keys", headers={"authorization": f"Bearer {limited.api_key}"})
        answer = connection.getresponse()
        assert answer.status == 429
        assert int(answer.headers["Retry-After"]) >= 1
        connection.close()
    finally:
        limited.close()


def test_what_was_answered_survives_a_sigkill(own_edge: RunningEdge) -> None:
    made = [own_edge.api("POST", "/reserved_addrs", {"metadata": str(n)})[1] for n in range(20)]
    _, domain = own_edge.api("POST", "/reserved_domains", {"domain": "kept.example.com"})
    _, operator = own_edge.api("POST", "/kubernetes_operators", {"description": "a cluster"})
    own_edge.kill()
    own_edge.start()
    kept = {item["id"]: item for item in own_edge.api("GET", "/reserved_addrs")[1]["reserved_addrs"]}
    assert [kept[item["id"]]["addr"] for item in made] == [item["addr"] for item in made]
    assert own_edge.api("GET", f"/reserved_domains/{domain['id']}")[1]["cname_target"] == domain["cname_target"]
    assert own_edge.api("GET", f"/kubernetes_operators/{operator['id']}")[0] == 200


def test_a_second_edge_on_the_same_state_is_refused(own_edge: RunningEdge) -> None:
    other = subprocess.run(
        own_edge.process.args, env=own_edge.environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert other.returncode != 0
    assert "another edge runs on" in other.stderr
