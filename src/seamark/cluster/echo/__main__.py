"""`python -m seamark.cluster.echo [serve | get URL]`.

serve: HTTP on PORT (3000), and raw TCP echo on TCP_PORT if that is set, at POD_IP or everywhere. Each request is
answered with JSON: method, path, host, headers, and the Pod, namespace and Service from the environment. `/healthz`
answers ok, `/status/404` that code, `/delay/0.5` after that time. It ends on SIGTERM.
get: fetches a URL, prints the answer, and ends with 0 if it was a success.

It needs the standard library alone, and imports little of it: a Pod should be up within milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

LONGEST_HEAD = 65536


class Http(asyncio.Protocol):
    """HTTP/1.1 with keep-alive; a body is read and dropped."""

    def __init__(self) -> None:
        self._data = b""
        self._skip = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._data += data
        while True:
            skipped = min(self._skip, len(self._data))
            self._data, self._skip = self._data[skipped:], self._skip - skipped
            head, end, rest = self._data.partition(b"\r\n\r\n")
            if self._skip or not end:
                if len(head) > LONGEST_HEAD:
                    self._transport.close()
                return
            self._data = rest
            self._answer(head.decode("latin-1"))

    def _answer(self, head: str) -> None:
        assert self._transport is not None
        first, *lines = head.split("\r\n")
        method, _, rest = first.partition(" ")
        path, _, version = rest.partition(" ")
        headers: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers.setdefault(name.strip().title(), []).append(value.strip())
        length = headers.get("Content-Length", ["0"])[0]
        self._skip = int(length) if length.isdigit() else 0
        keep = version == "HTTP/1.1" and headers.get("Connection", [""])[0].lower() != "close"
        code, body = respond(method, path, headers, version)
        kind = "application/json" if body.startswith(b"{") else "text/plain"
        lines = [f"HTTP/1.1 {code}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        lines.append("Connection: keep-alive" if keep else "Connection: close")
        whole = "\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if method == "HEAD" else body)
        transport = self._transport

        def send() -> None:
            transport.write(whole)
            if not keep:
                transport.close()

        if path.startswith("/delay/"):
            asyncio.get_running_loop().call_later(float(path.split("/")[2]), send)
        else:
            send()


class TcpEcho(asyncio.Protocol):
    """Every byte comes back, with backpressure."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()


def respond(method: str, path: str, headers: dict[str, list[str]], version: str) -> tuple[str, bytes]:
    if path == "/healthz":
        return "200 OK", b"ok\n"
    if path.startswith("/status/") and path[8:11].isdigit():
        return f"{path[8:11]} As Asked", b"as asked\n"
    said = {
        "path": path,
        "host": headers.get("Host", [""])[0],
        "method": method,
        "proto": version,
        "headers": headers,
        "namespace": os.environ.get("NAMESPACE", ""),
        "service": os.environ.get("SERVICE_NAME", ""),
        "pod": os.environ.get("POD_NAME") or os.environ.get("HOSTNAME", ""),
    }
    return "200 OK", json.dumps(said).encode() + b"\n"


async def serve() -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    host = os.environ.get("POD_IP") or "0.0.0.0"  # noqa: S104  a server in a Pod listens on all of the Pod's addresses
    port = int(os.environ.get("PORT") or "3000")
    servers = [await loop.create_server(Http, host, port, backlog=1024)]
    if tcp := os.environ.get("TCP_PORT"):
        servers.append(await loop.create_server(TcpEcho, host, int(tcp), backlog=1024))
    print(f"listening on {host}:{port}", flush=True)  # noqa: T201  this is the container's log
    await stop.wait()
    for server in servers:
        server.close()


def get(url: str) -> int:
    from urllib import error, request  # noqa: PLC0415  the server does without

    try:
        with request.urlopen(url, timeout=10) as answer:  # noqa: S310  whatever the Pod's author asks for
            print(answer.read().decode(errors="replace"), end="", flush=True)  # noqa: T201
    except (error.URLError, OSError) as problem:
        print(f"{url}: {problem}", file=sys.stderr, flush=True)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["get"] and len(sys.argv) == 3:
        sys.exit(get(sys.argv[2]))
    if sys.argv[1:] not in ([], ["serve"]):
        sys.exit("usage: echo [serve | get URL]")
    asyncio.run(serve())
