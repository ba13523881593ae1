"""Plain requests to a control plane, for tests that want to see the API server's own answers."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.api.crd import CRD

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Answer(NamedTuple):
    code: int
    body: dict[str, Any]
    headers: Mapping[str, str]


def request(
    plane: ControlPlane,
    method: str,
    path: str,
    body: Any = None,
    *,
    user: str = "admin",
    content_type: str = "application/json",
) -> Answer:
    """One request on a connection of its own, as a user of the plane."""
    trust = ssl.create_default_context(cafile=str(plane.ca))
    connection = http.client.HTTPSConnection(urlsplit(plane.url).netloc, timeout=10, context=trust)
    headers = {"Authorization": f"Bearer {plane.user(user).token}", "Content-Type": content_type}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return Answer(answer.status, document(answer.read()), dict(answer.getheaders()))
    finally:
        connection.close()


def document(body: bytes) -> dict[str, Any]:
    """The answer's document. A kind that is not served yet is answered in plain text; one may be nested too deep."""
    try:
        found: dict[str, Any] = json.loads(body)
    except (ValueError, RecursionError):
        return {"message": body.decode(errors="replace").strip()}
    return found


def eventually(condition: Callable[[], bool], what: str, seconds: float = 90) -> None:
    """Waits until it holds; the message is what was expected."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.02)


def install(plane: ControlPlane, crd: CRD) -> None:
    """Creates a kind, with strict validation, and waits until it is served, and until its garbage is collected.

    One that is there already stays.
    """
    made = request(plane, "POST", f"{DEFINITIONS}?fieldValidation=Strict", crd.manifest())
    assert made.code in (201, 409), made.body["message"]

    def served() -> bool:
        status = request(plane, "GET", f"{DEFINITIONS}/{crd.name}").body["status"]
        conditions = {condition["type"]: condition for condition in status["conditions"] or ()}
        assert "NonStructuralSchema" not in conditions, conditions
        established = conditions.get("Established", {}).get("status") == "True"
        return established and request(plane, "GET", crd.resource.path()).code == 200

    eventually(served, f"{crd.name} is served")
    if made.code == 201 and plane.controller_manager.alive:
        plane.restart_controllers()
