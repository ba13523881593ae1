"""nginx and busybox's httpd: static servers of a folder."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from seamark_cluster.programs.http import Request, Response, Site, options

ROOT = "/usr/share/nginx/html"
WELCOME = """<!DOCTYPE html>
<html>
<head><title>Welcome to nginx!</title></head>
<body><h1>Welcome to nginx!</h1><p>A local program in place of the image.</p></body>
</html>
"""
SORRY = """<!DOCTYPE html>
<html>
<head><title>Error</title></head>
<body><h1>An error occurred.</h1></body>
</html>
"""
NOT_FOUND = b"<html><head><title>404 Not Found</title></head><body>404 Not Found</body></html>\n"
PAGES: Mapping[str, str] = {f"{ROOT}/index.html": WELCOME, f"{ROOT}/50x.html": SORRY}  # the files of the image


def nginx(_arguments: Sequence[str], environment: Mapping[str, str]) -> Sequence[Site]:
    folder = Path(ROOT)
    port = int(environment.get("NGINX_PORT") or 80)
    if folder.is_dir():
        return (Site(port, lambda request: static(folder, request), server="nginx/1.27"),)
    return (Site(port, built_in, server="nginx/1.27"),)


def built_in(request: Request) -> Response:
    """Where containers have no files of their own."""
    name = ROOT + (request.path if not request.path.endswith("/") else f"{request.path}index.html")
    return Response(200, PAGES[name].encode(), "text/html") if name in PAGES else absent()


def httpd(arguments: Sequence[str], _environment: Mapping[str, str]) -> Sequence[Site]:
    given = options([argument for argument in arguments if argument not in ("-f", "-v", "-vv")])
    folder = Path(given.get("h") or ".")
    return (Site(int((given.get("p") or "80").rpartition(":")[2]), lambda request: static(folder, request)),)


def static(folder: Path, request: Request) -> Response:
    path = unquote(request.path)
    if ".." in path.split("/") or "\0" in path:
        return Response(400, b"bad path\n")
    file = folder / path.lstrip("/")
    if file.is_dir():
        if not request.path.endswith("/"):
            return Response(301, headers={"Location": f"{request.path}/"})
        file /= "index.html"
    try:
        body = file.read_bytes()
    except OSError:
        return absent()
    return Response(200, body, mimetypes.guess_type(file.name)[0] or "application/octet-stream")


def absent() -> Response:
    return Response(404, NOT_FOUND, "text/html")
