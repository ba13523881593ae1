"""http-echo, which answers one text, and http-https-echo, which answers with the request as JSON."""

from __future__ import annotations

import json
import socket
import ssl
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from seamark_cluster.programs.http import Request, Response, Site, options

VALID = timedelta(days=365)


def http_echo(arguments: Sequence[str], environment: Mapping[str, str]) -> Sequence[Site]:
    given = options(arguments)
    text = given.get("text") or environment.get("ECHO_TEXT") or "hello-world"
    port = (given.get("listen") or ":5678").rpartition(":")[2]
    headers = {"X-App-Name": "http-echo", "X-App-Version": "1.0.0"}
    response = Response(body=f"{text}\n".encode(), headers=headers)
    return (Site(int(port), lambda _request: response),)


def http_https_echo(_arguments: Sequence[str], environment: Mapping[str, str]) -> Sequence[Site]:
    plain, secure = environment.get("HTTP_PORT") or "8080", environment.get("HTTPS_PORT") or "8443"
    return (Site(int(plain), mirrored), Site(int(secure), mirrored, tls=own_certificate()))


def mirrored(request: Request) -> Response:
    host = request.header("Host")
    document: dict[str, Any] = {
        "path": request.path,
        "headers": {name.lower(): value for name, value in request.headers},
        "method": request.method,
        "body": request.body.decode(errors="replace"),
        "protocol": "https" if request.secure else "http",
        "query": {name: values[0] if len(values) == 1 else values for name, values in parse_qs(request.query).items()},
        "hostname": host.partition(":")[0],
        "ip": request.client,
        "os": {"hostname": socket.gethostname()},
    }
    if "json" in request.header("Content-Type") and (found := decoded(request.body)) is not None:
        document["json"] = found
    return Response(body=json.dumps(document, indent=2).encode(), kind="application/json; charset=utf-8")


def decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def own_certificate() -> ssl.SSLContext:
    """Signed by itself, as that of the image is."""
    from cryptography import x509  # noqa: PLC0415  the other programs start without it
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now).not_valid_after(now + VALID)
    encoding, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.pem"
        file.write_bytes(
            key.private_bytes(encoding, pkcs8, serialization.NoEncryption())
            + builder.sign(key, hashes.SHA256()).public_bytes(encoding)
        )
        context.load_cert_chain(file)
    return context
