"""An agent for the tests, on the unmodified official Python SDK. Runs in an environment that holds only that."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import ngrok  # type: ignore[import-not-found]  # installed in an environment of its own


class Program:
    def __init__(self) -> None:
        self.session: Any = None
        self.listeners: dict[str, Any] = {}

    async def connect(self, c: dict[str, Any]) -> dict[str, Any]:
        builder = ngrok.SessionBuilder()
        builder.authtoken(c["token"]).server_addr(c["address"])
        builder.ca_cert(bytearray(Path(c["ca"]).read_bytes()))  # nothing else runs yet
        self.session = await asyncio.wait_for(builder.connect(), 5)
        return {}

    async def forward(self, c: dict[str, Any]) -> dict[str, Any]:
        listener = await self.builder(c).listen()
        listener.forward(c["upstream"])
        self.listeners[listener.id()] = listener
        return {"url": listener.url(), "id": listener.id()}

    async def label(self, c: dict[str, Any]) -> dict[str, Any]:
        builder = self.session.labeled_listener()
        for name, value in c["labels"].items():
            builder.label(name, value)
        listener = await builder.listen()
        listener.forward(c["upstream"])
        self.listeners[listener.id()] = listener
        return {"id": listener.id()}

    def builder(self, c: dict[str, Any]) -> Any:
        scheme, _, place = c.get("url", "tcp://").partition("://")
        if scheme == "tcp":
            builder = self.session.tcp_endpoint()
            if place:
                builder.remote_addr(place)
        else:
            builder = self.session.tls_endpoint() if scheme == "tls" else self.session.http_endpoint()
            if scheme == "http":
                builder.scheme("http")
            if place:
                builder.domain(place)
        if c.get("metadata"):
            builder.metadata(c["metadata"])
        if c.get("policy"):
            builder.traffic_policy(c["policy"])
        if c.get("proxyproto"):
            builder.proxy_proto(c["proxyproto"])
        if c.get("allow"):
            builder.allow_cidr(c["allow"])
        return builder

    async def close(self, c: dict[str, Any]) -> dict[str, Any]:
        await self.listeners.pop(c["id"]).close()
        return {}

    async def disconnect(self, _: dict[str, Any]) -> dict[str, Any]:
        await self.session.close()
        return {}


async def main() -> None:
    program = Program()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        try:
            answer = await getattr(program, command["op"])(command)
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


asyncio.run(main())
