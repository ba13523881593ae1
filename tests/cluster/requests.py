"""Plain requests to a control plane, for tests that want to see the API server's own answers."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from seamark.cluster.real.plane import ControlPlane


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
        return Answer(answer.status, json.loads(answer.read()), dict(answer.getheaders()))
    finally:
        connection.close()
