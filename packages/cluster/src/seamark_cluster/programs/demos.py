"""podinfo and whoami: programs that answer with what they are and what they were asked."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from seamark_cluster.programs.http import Request, Response, Site, options

VERSION = "6.7.1"
JSON = "application/json; charset=utf-8"


def as_json(document: Any, status: int = 200) -> Response:
    return Response(status, json.dumps(document, indent=2).encode(), JSON)


def podinfo(arguments: Sequence[str], environment: Mapping[str, str]) -> Sequence[Site]:
    given = options(arguments)
    port = given.get("port") or environment.get("PODINFO_PORT") or "9898"
    message = given.get("ui-message") or environment.get("PODINFO_UI_MESSAGE") or f"greetings from podinfo v{VERSION}"

    fixed: dict[str, Any] = {
        "healthz": {"status": "OK"},
        "readyz": {"status": "OK"},
        "version": {"version": VERSION, "commit": "unknown"},
        "env": [f"{name}={value}" for name, value in environment.items()],
    }

    def respond(request: Request) -> Response:
        match request.path.strip("/").split("/"):
            case [""]:
                return as_json({"hostname": socket.gethostname(), "version": VERSION, "message": message})
            case ["headers"]:
                return as_json({name: [value] for name, value in request.headers})
            case [name] if name in fixed:
                return as_json(fixed[name])
            case ["status", code] if code.isdecimal() and 200 <= int(code) <= 599:
                return as_json({"status": int(code)}, int(code))
        return Response(404, b"404 page not found\n")

    return (Site(int(port), respond),)


def whoami(arguments: Sequence[str], environment: Mapping[str, str]) -> Sequence[Site]:
    given = options(arguments)
    name = given.get("name") or environment.get("WHOAMI_NAME") or ""
    port = given.get("port") or environment.get("WHOAMI_PORT_NUMBER") or "80"

    def respond(request: Request) -> Response:
        return described(request, name, environment) if request.path == "/api" else shown(request, name)

    return (Site(int(port), respond),)


def described(request: Request, name: str, environment: Mapping[str, str]) -> Response:
    document: dict[str, Any] = {
        "hostname": socket.gethostname(),
        "ip": own_addresses(),
        "headers": {header: [value] for header, value in request.headers},
        "url": request.target,
        "host": request.header("Host"),
        "method": request.method,
        "name": name,
    }
    if "env=true" in request.query.split("&"):
        document["environ"] = [f"{variable}={value}" for variable, value in environment.items()]
    return as_json(document)


def shown(request: Request, name: str) -> Response:
    lines = [f"Name: {name}"] if name else []
    lines += [f"Hostname: {socket.gethostname()}", *(f"IP: {address}" for address in own_addresses())]
    lines += [f"RemoteAddr: {request.client}", f"{request.method} {request.target} HTTP/1.1"]
    lines.append(f"Host: {request.header('Host')}")
    lines += sorted(f"{header}: {value}" for header, value in request.headers if header.lower() != "host")
    return Response(body="\n".join([*lines, "", ""]).encode())


def own_addresses() -> list[str]:
    """The address by which this machine would send, found without a packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ["127.0.0.1"]
        return [str(probe.getsockname()[0])]
