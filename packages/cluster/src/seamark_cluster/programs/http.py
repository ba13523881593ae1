"""A small HTTP server for the programs: a request becomes a response, a thread for each connection."""

from __future__ import annotations

import ssl
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(frozen=True)
class Request:
    method: str
    target: str  # path and query, as received
    version: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    client: str
    secure: bool = False

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known.lower() == name.lower()), "")


@dataclass(frozen=True)
class Response:
    status: int = 200
    body: bytes = b""
    kind: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """What listens on one port."""

    port: int
    respond: Callable[[Request], Response]
    server: str = ""  # the header Server
    tls: ssl.SSLContext | None = None


def serve(sites: Sequence[Site], host: str) -> None:
    """Until the process ends. Where Pods share this machine's addresses, `host` is the Pod's own."""
    servers = [_server(site, host) for site in sites]
    for site in sites:
        sys.stdout.write(f"listening on {host or '*'}:{site.port}\n")
    sys.stdout.flush()
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    servers[0].serve_forever()


def _server(site: Site, host: str) -> ThreadingHTTPServer:
    class Handler(_Handler):
        pass

    Handler.site = site
    server = _Server((host, site.port), Handler)
    if site.tls is not None:
        server.socket = site.tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        """Without the lookup of its own name, which may take seconds."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went, or speaks no HTTP."""


class _Handler(BaseHTTPRequestHandler):
    site: Site
    protocol_version = "HTTP/1.1"
    timeout = 60

    def __getattr__(self, name: str) -> Any:
        if name.removeprefix("do_") in METHODS:
            return self._respond
        raise AttributeError(name)

    def version_string(self) -> str:
        return self.site.server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name that the base class has
        sys.stdout.write(f"{self.client_address[0]} {format % args}\n")
        sys.stdout.flush()

    def _respond(self) -> None:
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(length)) if length.isdecimal() else b""
        headers, client, secure = list(self.headers.items()), self.client_address[0], self.site.tls is not None
        request = Request(self.command, self.path, self.request_version, headers, body, client, secure)
        response = self.site.respond(request)
        self.send_response_only(response.status)
        found = {"Content-Type": response.kind, "Content-Length": str(len(response.body)), **response.headers}
        for name, value in ({"Server": self.site.server} if self.site.server else {}).items() | found.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        self.log_request(response.status)


def options(arguments: Sequence[str]) -> dict[str, str]:
    """`--name=value`, `-name=value`, `--name value`."""
    found: dict[str, str] = {}
    name = ""
    for argument in arguments:
        if argument.startswith("-") and not name:
            name, given, value = argument.lstrip("-").partition("=")
            if given:
                found[name], name = value, ""
        elif name:
            found[name], name = argument, ""
    return found
