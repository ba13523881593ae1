"""The two sides, the store and the real API server, with the same interface."""

from __future__ import annotations

import http.client
import json
import random
import ssl
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

from seamark_cluster.embedded import Settings, Store, User, Watch
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.fidelity.operation import Operation
from tests.fidelity.samples import Json

AGENT = "fidelity"


@dataclass
class Reply:
    """The response of a side."""

    code: int
    body: Any
    warnings: list[str] = field(default_factory=list)


class Side(Protocol):
    def ask(
        self, method: str, path: str, query: dict[str, str], body: bytes, media: str, user: str = "admin"
    ) -> Reply: ...

    def follow(self, path: str, query: dict[str, str], last: str) -> list[Json]:
        """Events of a watch up to the one about the object called `last`."""
        ...


def decode(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace").strip()


class Embedded:
    """The store."""

    def __init__(self, users: dict[str, User], store: Store | None = None) -> None:
        self.store = store or Store(chance=random.Random(1), settings=Settings(controllers=False))
        self._users = users

    def ask(self, method: str, path: str, query: dict[str, str], body: bytes, media: str, user: str = "admin") -> Reply:
        found = self.store.handle(
            HttpRequest(method, received_path(path), query, body, media), self._users[user], AGENT
        )
        if isinstance(found, Watch):
            lines = found.pending()
            found.close()
            return Reply(200, [json.loads(line) for line in lines])
        warning = found.headers.get("Warning", "")
        return Reply(found.status, decode(found.body), [warning] if warning else [])

    def follow(self, path: str, query: dict[str, str], last: str) -> list[Json]:
        found = self.store.handle(
            HttpRequest("GET", received_path(path), {"watch": "true", **query}), self._users["admin"], AGENT
        )
        assert not isinstance(found, Answer), found
        lines = [json.loads(line) for line in found.pending()]
        found.close()
        return _until(lines, last)


def _until(lines: list[Json], last: str) -> list[Json]:
    for index, line in enumerate(lines):
        if line["object"].get("metadata", {}).get("name", "") == last or line["type"] == "ERROR":
            return lines[: index + 1]
    raise AssertionError(f"no event about {last} in {lines}")


class Real:
    """A real API server, over one connection that stays open."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._connection = self._connect()

    def close(self) -> None:
        self._connection.close()

    def _connect(self) -> http.client.HTTPSConnection:
        trust = ssl.create_default_context(cafile=str(self._plane.ca))
        return http.client.HTTPSConnection(urlsplit(self._plane.url).netloc, timeout=30, context=trust)

    def ask(self, method: str, path: str, query: dict[str, str], body: bytes, media: str, user: str = "admin") -> Reply:
        url = quote(path) + ("?" + urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self._plane.user(user).token}", "User-Agent": f"{AGENT}/1"}
        if body or method not in ("GET", "DELETE"):
            headers["Content-Type"] = media
        try:
            self._connection.request(method, url, body or None, headers)
            answer = self._connection.getresponse()
        except (http.client.HTTPException, OSError):
            self._connection.close()
            self._connection.request(method, url, body or None, headers)
            answer = self._connection.getresponse()
        data = answer.read()
        return Reply(answer.status, decode(data), answer.headers.get_all("Warning") or [])

    def follow(self, path: str, query: dict[str, str], last: str) -> list[Json]:
        connection = self._connect()
        url = quote(path) + "?" + urlencode({"watch": "true", "timeoutSeconds": "10", **query})
        try:
            connection.request("GET", url, headers={"Authorization": f"Bearer {self._plane.admin.token}"})
            answer = connection.getresponse()
            lines: list[Json] = []
            for line in answer:
                lines.append(json.loads(line))
                if lines[-1]["type"] == "ERROR" or lines[-1]["object"].get("metadata", {}).get("name", "") == last:
                    break
            answer.close()
            return _until(lines, last)
        finally:
            connection.close()


class Runner:
    """Runs operations on one side, filling in that side's uids, versions and tokens."""

    def __init__(self, side: Side, namespace: str) -> None:
        self.side = side
        self.namespace = namespace
        self._objects: dict[str, Json] = {}
        self._token = ""
        self._list_version = ""

    def run(self, operation: Operation, user: str = "admin") -> Reply:
        known = self._objects.get(self._placed(operation.of), {})
        path = self._placed(operation.path)
        if not self._list_version and "$listversion" in operation.query.values():
            # any fixed version may be compacted on one side and not on the other
            self._learn(path, self.side.ask("GET", path, {}, b"", "application/json", "admin").body)
        query = {key: self._filled(value, known) for key, value in operation.query.items()}
        body = b"" if operation.body is None else json.dumps(self._filled(operation.body, known)).encode()
        reply = self.side.ask(operation.method, path, query, body, operation.media, user)
        self._learn(path, reply.body)
        return reply

    def _placed(self, text: str) -> str:
        return text.replace("$ns", self.namespace).replace("$n", self.namespace)

    def _filled(self, value: Any, known: Json) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(entry, known) for key, entry in value.items()}
        if isinstance(value, list):
            return [self._filled(item, known) for item in value]
        if not isinstance(value, str) or "$" not in value:
            return value
        meta = known.get("metadata", {})
        special = {
            "$object": known or {"metadata": {}},
            "$rv": meta.get("resourceVersion", "1"),
            "$uid": meta.get("uid", "none"),
            "$continue": self._token,
            "$listversion": self._list_version or "1",
        }
        return special[value] if value in special else self._placed(value)

    def _learn(self, path: str, body: Any) -> None:
        if not isinstance(body, dict):
            return
        meta = body.get("metadata") or {}
        if isinstance(body.get("items"), list):
            self._token = meta.get("continue", "")
            self._list_version = meta.get("resourceVersion", "")
            for item in body["items"]:
                self._objects[f"{path}/{item['metadata']['name']}"] = item
        elif body.get("kind") != "Status" and meta.get("resourceVersion"):
            name = meta.get("name", "")
            base = path.split("/status", maxsplit=1)[0]
            self._objects[base if base.endswith(f"/{name}") else f"{base}/{name}"] = body
