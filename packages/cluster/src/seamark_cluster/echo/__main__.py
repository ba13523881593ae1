"""`python -m seamark_cluster.echo [serve | get URL]`.

serve: HTTP on PORT (3000), and raw TCP echo on TCP_PORT if that is set, at POD_IP or everywhere. Each request is
answered with JSON: method, path, host, headers, and the Pod, namespace and Service from the environment. `/healthz`
answers ok, `/status/404` that code, `/delay/0.5` after that time. It ends on SIGTERM.
get: fetches a URL, prints the answer, and ends with 0 if it was a success.

A thread for each connection, and few imports: starting takes a third of what it would with asyncio, and a Pod should be
up within milliseconds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

LONGEST_HEAD = 65536
Handler = Callable[[socket.socket], None]


def http(connection: socket.socket) -> None:
    """HTTP/1.1 with keep-alive; a body is read and dropped."""
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece or len(data) > LONGEST_HEAD:
                return
            data += piece
        head, _, data = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, version = (*first.split(" "), "", "")[:3]
        headers = parsed(lines)
        length = headers.get("Content-Length", ["0"])[0]
        missing = int(length) if length.isdigit() else 0
        while len(data) < missing and (piece := connection.recv(65536)):
            missing, data = missing - len(data), piece
        data = data[missing:]
        keep = version == "HTTP/1.1" and headers.get("Connection", [""])[0].lower() != "close"
        code, body = respond(method, path, headers, version)
        kind = "application/json" if body.startswith(b"{") else "text/plain"
        document = [f"HTTP/1.1 {code}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        document.append("Connection: keep-alive" if keep else "Connection: close")
        whole = "\r\n".join(document).encode() + b"\r\n\r\n"
        connection.sendall(whole + (b"" if method == "HEAD" else body))
        if not keep:
            return


def parsed(lines: list[str]) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers.setdefault(name.strip().title(), []).append(value.strip())
    return headers


def respond(method: str, path: str, headers: dict[str, list[str]], version: str) -> tuple[str, bytes]:
    if path == "/healthz":
        return "200 OK", b"ok\n"
    if path.startswith("/status/") and path[8:11].isdigit():
        return f"{path[8:11]} As Asked", b"as asked\n"
    if path.startswith("/delay/"):
        time.sleep(min(60.0, float(path.split("/")[2])))
    document = {
        "path": path,
        "host": headers.get("Host", [""])[0],
        "method": method,
        "proto": version,
        "headers": headers,
        "namespace": os.environ.get("NAMESPACE", ""),
        "service": os.environ.get("SERVICE_NAME", ""),
        "pod": os.environ.get("POD_NAME") or os.environ.get("HOSTNAME", ""),
    }
    return "200 OK", json.dumps(document).encode() + b"\n"


def tcp(connection: socket.socket) -> None:
    """Every byte comes back."""
    while data := connection.recv(65536):
        connection.sendall(data)


def accept(server: socket.socket, handler: Handler) -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=handle, args=(connection, handler), daemon=True).start()


def handle(connection: socket.socket, handler: Handler) -> None:
    with connection:
        try:
            handler(connection)
        except (OSError, ValueError):
            return  # the client went, or speaks no HTTP


def serve() -> None:
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    host = os.environ.get("POD_IP") or "0.0.0.0"  # noqa: S104  a server in a Pod listens on all of the Pod's addresses
    if port := os.environ.get("TCP_PORT"):
        extra = socket.create_server((host, int(port)), backlog=1024)
        threading.Thread(target=accept, args=(extra, tcp), daemon=True).start()
    port = os.environ.get("PORT") or "3000"
    server = socket.create_server((host, int(port)), backlog=1024)
    print(f"listening on {host}:{port}", flush=True)  # noqa: T201  this is the container's log
    accept(server, http)


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
    serve()
