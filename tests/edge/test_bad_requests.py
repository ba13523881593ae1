"""What a caller of the API does wrong is answered, or its connection is closed; the log has no traceback of it."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from tests.edge.running import RunningEdge
from tests.edge.services import eventually


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    """An edge that logs everything."""
    running = RunningEdge(tmp_path_factory.mktemp("watched") / "state", log_level="debug", head_seconds=2)
    yield running
    running.close()


def log_of(edge: RunningEdge) -> str:
    return (edge.state / "log").read_text(errors="replace")


HEAD = b"Host: a\r\nAuthorization: Bearer {key}\r\n"
POST = b"POST /ip_policies HTTP/1.1\r\n" + HEAD
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SENT = {
    "garbage": b"\x00\xff\x80garbage\r\n\r\n",
    "garbage with lines": b"\x00\r\n" * 500,
    "tls at a plain port": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 600,
    "no version": b"GET /endpoints\r\n\r\n",
    "unknown version": b"GET /endpoints HTTP/9.9\r\n" + HEAD + b"\r\n",
    "unknown method": b"B\xc3\xb6SE /endpoints HTTP/1.1\r\n" + HEAD + b"\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "half a head": b"GET /endpoints HTTP/1.1\r\nHos",
    "huge header": b"GET /endpoints HTTP/1.1\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    "many headers": b"GET /endpoints HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(5000)) + b"\r\n",
    "huge path": b"GET /" + b"y" * 200_000 + b" HTTP/1.1\r\n\r\n",
    "header without a colon": b"GET /endpoints HTTP/1.1\r\nHost a\r\n\r\n",
    "header with a NUL": b"GET /endpoints HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
    "header that is no text": b"GET /endpoints HTTP/1.1\r\nHost: a\r\nX: \xff\xfe\r\n" + HEAD + b"\r\n",
    "bad host": b"GET /endpoints HTTP/1.1\r\nHost: [::\r\n" + HEAD + b"\r\n",
    "bad path": b"GET //[ HTTP/1.1\r\n" + HEAD + b"\r\n",
    "bad escapes": b"GET /endpoints/%zz%ff?limit=%ff&filter=%00 HTTP/1.1\r\n" + HEAD + b"\r\n",
    "absolute url": b"GET http://[/endpoints HTTP/1.1\r\n" + HEAD + b"\r\n",
    "connect": b"CONNECT a:1 HTTP/1.1\r\n" + HEAD + b"\r\n",
    "upgrade": b"GET /endpoints HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    + HEAD
    + b"\r\n"
    + b"\x81\xff" * 9,
    "expect": POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
    "unknown expect": POST + b"Expect: nothing\r\nContent-Length: 5\r\n\r\n{}   ",
    "half a body": POST + b"Content-Length: 500\r\n\r\n{",
    "negative length": POST + b"Content-Length: -5\r\n\r\n{}",
    "length that is no number": POST + b"Content-Length: five\r\n\r\n{}",
    "length of many digits": POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "length and chunks": POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "longer than its length": POST + b"Content-Length: 2\r\n\r\n{}{}garbage\r\n\r\n",
    "chunk size that is no number": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "chunk size that is negative": CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
    "chunk size of many digits": CHUNKED + b"f" * 5000 + b"\r\n{}\r\n",
    "chunk longer than its size": CHUNKED + b"2\r\n{}{}\r\n0\r\n\r\n",
    "chunk without an end": CHUNKED + b"2\r\n{}\r\n",
    "chunk cut off": CHUNKED + b"ffff\r\n{}",
    "chunk with a huge extension": CHUNKED + b"2;" + b"x" * 200_000 + b"\r\n{}\r\n0\r\n\r\n",
    "garbage after the last chunk": CHUNKED + b"2\r\n{}\r\n0\r\n\xff\xff\r\n\r\n",
    "unknown transfer encoding": POST + b"Transfer-Encoding: gzip, identity\r\n\r\n{}",
    "body that is too large": POST + b"Content-Length: 9999999\r\n\r\n" + b"x" * 2_000_000,
    "body that is no text": POST + b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x01",
    "compressed body": POST + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
    "cookies": b"GET /endpoints HTTP/1.1\r\nCookie: " + b'a="\\' * 900 + b"\r\n" + HEAD + b"\r\n",
    "pipelined": (b"GET /endpoints HTTP/1.1\r\n" + HEAD + b"\r\n") * 50 + b"garbage\r\n\r\n",
}


def send(edge: RunningEdge, port: str, data: bytes, *, how: str) -> None:
    """Send it, then leave: by an end of sending, by a reset at once, or by a reset in the middle of the answer."""
    with socket.create_connection(("127.0.0.1", edge.ports[port]), 10) as client:
        client.settimeout(0.5)
        try:
            client.sendall(data.replace(b"{key}", edge.api_key.encode()))
            if how == "end":
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            elif how == "middle":
                client.recv(1)
        except OSError:
            return
        if how != "end":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("port", ["api_port", "ops_port"])
@pytest.mark.parametrize("how", ["end", "reset", "middle"])
def test_no_traceback_for_what_a_client_does_wrong(watched: RunningEdge, port: str, how: str) -> None:
    began = len(log_of(watched))
    for name, data in SENT.items():
        before = len(log_of(watched))
        send(watched, port, data, how=how)
        said = log_of(watched)[before:]
        assert "Traceback" not in said, f"{name}: {said}"
    time.sleep(0.3)  # what the edge does after a client has left
    said = log_of(watched)[began:]
    assert "Traceback" not in said
    for line in said.splitlines():
        assert json.loads(line)["level"] in ("debug", "info"), line
    counted = [line for line in watched.get("/metrics").splitlines() if line.startswith("seamark_edge_failures_total{")]
    assert not counted  # each would be an error of the edge itself
    eventually(lambda: watched.get("/readyz") == "ready\n", "the edge is ready")
