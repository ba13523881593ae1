"""The preamble of a bindings connection: one framed request, one framed answer, then bytes.

A frame is a 16-bit little-endian length and a protobuf message. The two messages are small and fixed, so they are
coded by hand; unknown fields are skipped, and anything that is not protobuf raises `PreambleError`.

Probes are ours. An operator sends `PROBE` to a forwarder in place of a Pod's first bytes; the forwarder sends a request
with `probe` to the edge, and returns `PROBED` and the framed response. The edge joins nothing: its response has the
state of the far upstream. An edge that does not know probes handles the request as a connection, and its
response has no such state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_MESSAGE = 0xFFFF
PROBE = b"\x00\xffseamark probe 1\r\n\x00"  # begins like no protocol of a Pod
PROBED = b"\x00\xffseamark probed 1\r\n\x00"
ACCEPTED, NOT_ACCEPTED, NOT_CONFIRMED = "accepted", "not accepted", "not confirmed"  # states of a far upstream
FORWARDER_ERROR = "forwarder"  # the error code of a forwarder that did not reach the edge
_PROBE_FIELD, _STATE_FIELD, _DETAIL_FIELD = 5301, 5301, 5302  # far from the fields that the cloud's protocol has
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class PreambleError(Exception):
    """Not a preamble; the text is fit for the peer."""


@dataclass(frozen=True, slots=True)
class PodIdentity:
    uid: str = ""
    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConnRequest:
    host: str = ""
    port: int = 0
    pod: PodIdentity | None = None
    probe: bool = False

    def encode(self) -> bytes:
        out = _text(1, self.host) + _number(2, self.port) + _number(_PROBE_FIELD, int(self.probe))
        if self.pod is not None:
            pod = _text(1, self.pod.uid) + _text(2, self.pod.name) + _text(3, self.pod.namespace)
            for key, value in self.pod.annotations.items():
                pod += _bytes(4, _text(1, key) + _text(2, value))
            out += _bytes(3, pod)
        return out

    @classmethod
    def decode(cls, data: bytes) -> ConnRequest:
        host, port, pod, probe = "", 0, None, False
        for number, value in _fields(data):
            if number == 1:
                host = _string(value)
            elif number == 2:
                port = _integer(value)
            elif number == 3:
                pod = _pod(_blob(value))
            elif number == _PROBE_FIELD:
                probe = bool(_integer(value))
        return cls(host, port, pod, probe)


@dataclass(frozen=True, slots=True)
class ConnResponse:
    endpoint_id: str = ""
    proto: str = ""
    error_code: str = ""
    error_message: str = ""
    notices: tuple[str, ...] = ()
    upstream: str = ""  # the state of the far upstream, in the response to a probe
    detail: str = ""  # why it is not ACCEPTED

    def encode(self) -> bytes:
        out = _text(1, self.endpoint_id) + _text(2, self.proto)
        out += _text(3, self.error_code) + _text(4, self.error_message)
        out += b"".join(_bytes(5, _text(1, notice)) for notice in self.notices)
        return out + _text(_STATE_FIELD, self.upstream) + _text(_DETAIL_FIELD, self.detail)

    @classmethod
    def decode(cls, data: bytes) -> ConnResponse:
        texts = {1: "", 2: "", 3: "", 4: "", _STATE_FIELD: "", _DETAIL_FIELD: ""}
        notices: list[str] = []
        for number, value in _fields(data):
            if number in texts:
                texts[number] = _string(value)
            elif number == 5:
                notices.append("".join(_string(inner) for n, inner in _fields(_blob(value)) if n == 1))
        state, detail = texts[_STATE_FIELD], texts[_DETAIL_FIELD]
        return cls(texts[1], texts[2], texts[3], texts[4], tuple(notices), state, detail)


def frame(message: ConnRequest | ConnResponse) -> bytes:
    body = message.encode()
    if len(body) > MAX_MESSAGE:
        raise PreambleError(f"message of {len(body)} bytes: at most {MAX_MESSAGE} fit a frame")
    return len(body).to_bytes(2, "little") + body


class PreambleReader:
    """Gathers one frame; `rest` is what came after it. Holds at most a frame and the piece that completed it."""

    __slots__ = ("_buffer", "rest")

    def __init__(self) -> None:
        self._buffer = b""
        self.rest = b""

    def feed(self, data: bytes) -> bytes | None:
        self._buffer += data
        if len(self._buffer) < 2:
            return None
        length = int.from_bytes(self._buffer[:2], "little")
        if len(self._buffer) < 2 + length:
            return None
        body, self.rest = self._buffer[2 : 2 + length], self._buffer[2 + length :]
        self._buffer = b""
        return body


def _pod(data: bytes) -> PodIdentity:
    texts = {1: "", 2: "", 3: ""}
    annotations: dict[str, str] = {}
    for number, value in _fields(data):
        if number in texts:
            texts[number] = _string(value)
        elif number == 4:
            entry = {n: _string(inner) for n, inner in _fields(_blob(value)) if n in (1, 2)}
            annotations[entry.get(1, "")] = entry.get(2, "")
    return PodIdentity(texts[1], texts[2], texts[3], annotations)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value & 0xFFFFFFFFFFFFFFFF) if value else b""


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode()) if value else b""


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise PreambleError("protobuf field number zero")
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _read_varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise PreambleError(f"protobuf wire type {kind}")
        if length > len(data) - at:
            raise PreambleError("protobuf field longer than its message")
        yield number, data[at : at + length]
        at += length


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise PreambleError("protobuf number cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise PreambleError("protobuf number of more than ten bytes")


def _blob(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise PreambleError("protobuf number where bytes belong")
    return value


def _string(value: int | bytes) -> str:
    try:
        return _blob(value).decode()
    except UnicodeDecodeError as error:
        raise PreambleError("protobuf text that is not UTF-8") from error


def _integer(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise PreambleError("protobuf bytes where a number belongs")
    return value - (1 << 64) if value >> 63 else value
