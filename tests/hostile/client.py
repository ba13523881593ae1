"""The API server as a tenant sees it. Nothing here is Seamark's own: what judges must not share its faults.

- Objects can be deeper and have longer numbers than Python's JSON library takes: those are read without the depths.
- `Watching` follows kinds of one namespace; `get` is the last state of an object, and None when there is none.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

Json = dict[str, Any]
DEEPEST = 64
MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Place:
    """Where the objects of a kind are served."""

    kind: str
    api_version: str
    plural: str

    def path(self, namespace: str, name: str = "") -> str:
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" + (f"/{name}" if name else "")


@dataclass(frozen=True)
class Answer:
    code: int
    body: Json

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


def decoded(text: bytes) -> Json:
    """The document; parts deeper than any status is are left out where the whole can't be read."""
    try:
        found = json.loads(text, parse_int=_number)
    except RecursionError:
        found = json.loads(shallow(text), parse_int=_number)
    return found if isinstance(found, dict) else {}


def _number(text: str) -> int:
    return int(text) if len(text) < 100 else 0


def shallow(text: bytes, deepest: int = DEEPEST) -> bytes:
    """JSON without what is nested deeper; in one pass over the text."""
    kept, depth, inside, escaped = bytearray(), 0, False, False
    for byte in text:
        opening = not inside and byte in b"[{"
        closing = not inside and byte in b"]}"
        depth += opening
        if depth <= deepest:
            kept.append(byte)
        elif opening and depth == deepest + 1:
            kept += b"null"
        depth -= closing
        if inside:
            inside = escaped or byte != ord('"')
            escaped = not escaped and byte == ord("\\")
        elif byte == ord('"'):
            inside = True
    return bytes(kept)


class Client:
    """Requests as one user."""

    def __init__(self, url: str, ca: Path | None, token: str) -> None:
        self._url = url
        self._trust = ssl.create_default_context(cafile=ca)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Client:
        connector = aiohttp.TCPConnector(ssl=self._trust, limit=0)
        timeout = aiohttp.ClientTimeout(total=30)
        self._session = aiohttp.ClientSession(connector=connector, headers=self._headers, timeout=timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Answer:
        headers = {"Content-Type": kind} if body is not None else {}
        async with self._session.request(method, self._url + path, data=body, headers=headers) as response:
            text = await response.read()
            try:
                return Answer(response.status, decoded(text))
            except ValueError:
                return Answer(response.status, {"message": text.decode(errors="replace")})

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """A watch or another stream, a line at a time, however long."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
        async with self._session.get(self._url + path, timeout=timeout) as response:
            rest = bytearray()
            async for piece in response.content.iter_any():
                rest += piece
                while (end := rest.find(b"\n")) >= 0:
                    yield bytes(rest[:end])
                    del rest[: end + 1]


Key = tuple[str, str]  # kind, name


class Watching:
    """The last state of every object of some kinds in a namespace, and the events about them.

    `inspect` is given every line as it came, with the kind and the name that it is about.
    """

    def __init__(self, client: Client, namespace: str, inspect: Callable[[str, str, bytes], None]) -> None:
        self._client = client
        self._namespace = namespace
        self._inspect = inspect
        self._objects: dict[Key, Json] = {}
        self._events: dict[Key, list[str]] = {}
        self._deleted: set[Key] = set()  # also those that came and went between two looks
        self._changed: dict[str, asyncio.Event] = {}  # by name
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, places: Iterable[Place]) -> None:
        self._tasks += [asyncio.ensure_future(self._follow(place)) for place in places]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def get(self, kind: str, name: str) -> Json | None:
        return self._objects.get((kind, name))

    def deleted(self, kind: str, name: str) -> bool:
        """Whether it was there and is not any more."""
        return (kind, name) in self._deleted

    def events(self, kind: str, name: str) -> list[str]:
        """The reasons of Seamark's events about an object."""
        return self._events.get((kind, name), [])

    def names(self) -> list[Key]:
        return list(self._objects)

    def forget(self, name: str) -> None:
        self._changed.pop(name, None)
        self._deleted = {key for key in self._deleted if key[1] != name}
        for key in [key for key in self._events if key[1] == name]:
            del self._events[key]

    async def until(self, name: str, condition: Callable[[], bool], seconds: float) -> bool:
        """Whether the condition holds in time; it is tried whenever something about the name changes."""
        changed = self._changed.setdefault(name, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    changed.clear()
                    await changed.wait()
        return condition()

    async def _follow(self, place: Place) -> None:
        path = place.path(self._namespace) + "?watch=true&allowWatchBookmarks=false"
        while True:
            try:
                async for line in self._client.lines(path):
                    self._heard(place, line)
            except (aiohttp.ClientError, TimeoutError, OSError):
                await asyncio.sleep(0.5)
            for key in [key for key in self._objects if key[0] == place.kind]:
                del self._objects[key]  # the next watch begins with all that are there

    def _heard(self, place: Place, line: bytes) -> None:
        change = decoded(line)
        obj = change.get("object") or {}
        name = str((obj.get("metadata") or {}).get("name", ""))
        if place.kind == "Event":
            about = obj.get("regarding") or {}
            self._inspect(str(about.get("kind")), str(about.get("name")), line)
            if "seamark" in str(obj.get("reportingController")):
                key = (str(about.get("kind")), str(about.get("name")))
                self._events.setdefault(key, []).append(str(obj.get("reason")))
            name = str(about.get("name"))
        elif change.get("type") == "DELETED":
            self._objects.pop((place.kind, name), None)
            self._deleted.add((place.kind, name))
        elif change.get("type") in ("ADDED", "MODIFIED"):
            self._inspect(place.kind, name, line)
            self._objects[(place.kind, name)] = {"metadata": obj.get("metadata"), "status": obj.get("status")}
        if name in self._changed:
            self._changed[name].set()
