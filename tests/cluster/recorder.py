"""Every state of every object of a kind, as anybody could have seen it; then the rules of status over all of them.

It reads the API server by itself, not by the code under test.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.api.meta import Resource
from seamark_runtime.connection import Connection
from seamark_runtime.http import HttpTransport
from seamark_runtime.transport import HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import received_path
from tests.cluster.requests import request
from tests.status_rules import check

Json = dict[str, Any]


class Recorder:
    """Records in a thread of its own from `start` to `stop`; `histories` are by namespace and name.

    Where states may have been missed (the API server was away for too long) a history has a gap, which is None.
    """

    def __init__(self, plane: ControlPlane, resource: Resource, namespace: str = "") -> None:
        self._plane = plane
        self._path = resource.path(namespace)
        self.histories: dict[tuple[str, str], list[Json | None]] = {}
        self._stop = threading.Event()
        self._listed = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._record()), daemon=True)

    def start(self) -> None:
        self._thread.start()
        assert self._listed.wait(30), f"{self._path} could not be listed"

    def stop(self) -> None:
        """Waits until everything that is there now has been recorded."""
        deadline = time.monotonic() + 15
        live = request(self._plane, "GET", self._path).body.get("items", [])
        while not all(self._has(obj) for obj in live):
            assert time.monotonic() < deadline, "the recorder does not keep up"
            time.sleep(0.02)
        self._stop.set()
        self._thread.join(30)

    def _has(self, obj: Json) -> bool:
        history = self.histories.get(_name(obj)) or [None]
        last = history[-1]
        version = int(obj["metadata"]["resourceVersion"])
        return last is not None and int(last["metadata"]["resourceVersion"]) >= version

    async def _record(self) -> None:
        connection = Connection(self._plane.url, ca_pem=self._plane.ca.read_text(), token=self._plane.admin.token)

        async def load() -> Connection:
            return connection

        transport = await HttpTransport(load).open()
        version = ""
        recording: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        while not self._stop.is_set():
            recording = asyncio.ensure_future(self._follow(transport, version))
            while not recording.done() and not self._stop.is_set():
                await asyncio.wait([recording], timeout=0.05)
            if recording.done():
                version = recording.result()
                await asyncio.sleep(0.05)
        recording.cancel()
        await asyncio.gather(recording, return_exceptions=True)
        await transport.close()

    async def _follow(self, transport: HttpTransport, version: str) -> str:
        """Until the stream ends; where to go on from, empty for a new list."""
        try:
            if not version:
                version = await self._list(transport)
            query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
            async with transport.stream(HttpRequest("GET", received_path(self._path), query)) as stream:
                if stream.status != 200:
                    return ""
                rest = b""
                async for chunk in stream.chunks():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            return ""
                        version = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK":
                            self._note(event["object"])
        except NoAnswerError:
            pass
        return version

    async def _list(self, transport: HttpTransport) -> str:
        answer = await transport.send(HttpRequest("GET", received_path(self._path)))
        if answer.status != 200:
            raise NoAnswerError(f"{self._path} answered {answer.status}")
        listing = json.loads(answer.body)
        for history in self.histories.values():
            history.append(None)
        for obj in listing["items"]:
            self._note(obj)
        self._listed.set()
        return str(listing["metadata"]["resourceVersion"])

    def _note(self, obj: Json) -> None:
        self.histories.setdefault(_name(obj), []).append(obj)


def _name(obj: Json) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@contextmanager
def recorded(
    plane: ControlPlane, resource: Resource, *, namespace: str = "", ours: Iterable[str] | None = None
) -> Iterator[Recorder]:
    """Records what happens inside, and at its end runs the rules over every history."""
    recorder = Recorder(plane, resource, namespace)
    recorder.start()
    try:
        yield recorder
    except BaseException:
        recorder._stop.set()
        raise
    recorder.stop()
    found = [
        f"{'/'.join(name)}: {violation}"
        for name, history in recorder.histories.items()
        for violation in check(history, ours=ours)
    ]
    assert not found, "\n".join(found)
