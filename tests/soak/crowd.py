"""What a family's objects are in a soak: how they are created, changed and deleted, their reports, and what holds."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from typing import Any, ClassVar

from seamark_runtime.api.meta import Resource
from tests.cluster.requests import request
from tests.soak.world import SPACE, World

MERGE = "application/merge-patch+json"
TIMEOUT = 5.0
Json = dict[str, Any]


class Refused(Exception):
    """The API server, or the edge, was not there: the deed is done later."""


class Crowd:
    """Objects of one kind, by name.

    - `make`, `change` and `drop` are what users do; each can be done again when it was not answered.
    - `said`: its status is ready for its present generation. `true`: the remote side is.
    - `left`: what is there without an owner.
    """

    kind: ClassVar[Resource]
    most = 3
    namespace = SPACE
    ours: tuple[frozenset[str], ...] = ()  # the writers of the conditions; empty: a single one
    exempt: frozenset[int] = frozenset()  # rules that this kind can't keep

    def __init__(self, world: World) -> None:
        self.world = world

    # ---- what each kind is

    def spec(self, name: str, number: int) -> Json:
        raise NotImplementedError

    def reports_ready(self, obj: Json) -> bool:
        return condition(obj.get("status") or {}, "Ready", obj) == "True"

    def true(self, obj: Json) -> bool:
        raise NotImplementedError

    def left(self) -> Iterable[str]:
        return ()

    # ---- what users do

    def path(self, name: str = "") -> str:
        return self.kind.path(self.namespace, name or None)

    def make(self, name: str) -> None:
        body = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": {"name": name}}
        self._do("POST", self.path(), {**body, "spec": self.spec(name, 0)}, (201, 409))

    def change(self, name: str, number: int) -> None:
        self._do("PATCH", self.path(name), {"spec": self.spec(name, number)}, (200, 404))

    def drop(self, name: str) -> None:
        self._do("DELETE", self.path(name), None, (200, 202, 404))

    def listed(self) -> dict[str, Json] | None:
        """By name; None without a response."""
        found = self.world.get(self.path())
        return None if found is None else {one["metadata"]["name"]: one for one in found["items"]}

    def _do(self, method: str, path: str, body: Any, good: tuple[int, ...]) -> None:
        try:
            kind = MERGE if method == "PATCH" else "application/json"
            answer = request(self.world.machine.plane, method, path, body, content_type=kind)
        except OSError as error:
            raise Refused from error
        if answer.code in (429, 500, 503, 504):
            raise Refused(str(answer.body))
        assert answer.code in good, (method, path, answer)


def condition(status: Json, type_: str, obj: Json) -> str:
    """The status of a condition, if it is about the present generation."""
    for one in status.get("conditions") or ():
        if one["type"] == type_ and one.get("observedGeneration", 0) == obj["metadata"].get("generation", 0):
            return str(one["status"])
    return ""


def answers(host: str, port: int, name: str = "echo") -> bool:
    """Whether the echo Pod answers there."""
    try:
        with socket.create_connection((host, port), TIMEOUT) as connection:
            connection.settimeout(TIMEOUT)
            connection.sendall(f"GET /soak HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            data = bytearray()
            while piece := connection.recv(65536):
                data += piece
    except OSError:
        return False
    head, _, body = bytes(data).partition(b"\r\n\r\n")
    try:
        return b" 200 " in head.split(b"\r\n")[0] and bool(json.loads(body)["path"] == "/soak")
    except ValueError:
        return False
