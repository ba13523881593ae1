"""The session RPCs between agents and an edge: stream types, messages, the proxy header.

- A request or an answer is one JSON object without a length; `JsonReader` finds its end, within bounds.
- Field names are those of the official agents; where two of them spell a field in two ways, both are read.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, TypeVar

import msgspec

MAX_MESSAGE = 1024 * 1024
MAX_TRIES = 64
MAX_PROXY_HEADER = 64 * 1024
VERSION = "3"


class StreamType(IntEnum):
    AUTH = 0
    BIND = 1
    UNBIND = 2
    PROXY = 3
    RESTART = 4
    STOP = 5
    UPDATE = 6
    START_WITH_LABELS = 7
    SERVER_INFO = 8
    STOP_TUNNEL = 9
    HEARTBEAT = 0xFFFFFFFF


class MessageError(Exception):
    """Not a message of this protocol; the text is fit for the peer."""


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """Base of the messages: names in PascalCase, unknown fields ignored, null for "not said" where a default stands."""


class AuthExtra(Message, frozen=True, kw_only=True):
    go_token: str = msgspec.field(default="", name="Authtoken")
    rust_token: str = msgspec.field(default="", name="AuthToken")
    version: str = ""
    client_type: str = ""
    user_agent: str = ""
    os: str = msgspec.field(default="", name="OS")
    arch: str = ""
    metadata: str = ""
    cookie: str = ""
    heartbeat_interval: int = 0
    heartbeat_tolerance: int = 0
    stop_unsupported_error: str | None = None
    restart_unsupported_error: str | None = None
    update_unsupported_error: str | None = None
    window: int | msgspec.UnsetType = msgspec.UNSET  # ours: bytes that may be under way per stream, if both sides know

    @property
    def token(self) -> str:
        return self.go_token or self.rust_token


class Auth(Message, frozen=True, kw_only=True):
    version: tuple[str, ...] = ()
    client_id: str = ""
    extra: AuthExtra = AuthExtra()


class AuthAnswerExtra(Message, frozen=True, kw_only=True):
    version: str = ""
    region: str = ""
    cookie: str = ""
    account_name: str = ""
    session_duration: int = 0
    plan_name: str = ""
    banner: str = ""
    window: int | msgspec.UnsetType = msgspec.UNSET


class AuthAnswer(Message, frozen=True, kw_only=True):
    version: str = VERSION
    client_id: str = ""
    error: str = ""
    extra: AuthAnswerExtra = AuthAnswerExtra()


class BindExtra(Message, frozen=True, kw_only=True):
    name: str = ""
    token: str = ""
    metadata: str = ""
    description: str = ""
    bindings: tuple[str, ...] | None = None
    pooling_enabled: bool | None = None
    generation: int | msgspec.UnsetType = msgspec.UNSET  # ours: which version of what `name` names this is


class Bind(Message, frozen=True, kw_only=True):
    id: str = ""
    proto: str = ""
    forwards_to: str = ""
    forwards_proto: str = ""
    opts: dict[str, Any] = {}
    extra: BindExtra = BindExtra()


class BindAnswerExtra(Message, frozen=True, kw_only=True):
    token: str = ""


class BindAnswer(Message, frozen=True, kw_only=True):
    id: str = ""
    url: str = msgspec.field(default="", name="URL")
    proto: str = ""
    opts: dict[str, Any] = {}
    error: str = ""
    extra: BindAnswerExtra = BindAnswerExtra()


class StartWithLabels(Message, frozen=True, kw_only=True):
    labels: dict[str, str] = {}
    forwards_to: str = ""
    forwards_proto: str = ""
    metadata: str = ""


class StartWithLabelsAnswer(Message, frozen=True, kw_only=True):
    id: str = ""
    error: str = ""


class Unbind(Message, frozen=True, kw_only=True):
    id: str = ""


class Outcome(Message, frozen=True, kw_only=True):
    """The answer to what has no result of its own: empty is success."""

    error: str = ""


class ServerInfo(Message, frozen=True, kw_only=True):
    region: str = ""


class StopTunnel(Message, frozen=True, kw_only=True):
    id: str = ""
    message: str = ""
    error_code: str = ""


class ProxyHeader(Message, frozen=True, kw_only=True):
    id: str = ""
    client_addr: str = ""
    proto: str = ""
    edge_type: str = ""
    passthrough_tls: bool = msgspec.field(default=False, name="PassthroughTLS")


_encoder = msgspec.json.Encoder()


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


class JsonReader:
    """Gathers one JSON object that comes without a length.

    - `feed` returns the object's bytes once they are complete, else None.
    - Over 1 MiB, or when the object is still not complete after 64 pieces that end like one, it raises.
    """

    __slots__ = ("_buffer", "_limit", "_tries")

    def __init__(self, limit: int = MAX_MESSAGE) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._tries = 0

    def feed(self, data: bytes | bytearray | memoryview) -> bytes | None:
        self._buffer += data
        if len(self._buffer) > self._limit:
            raise MessageError(f"message of more than {self._limit} bytes")
        whole = bytes(self._buffer).rstrip() if self._buffer[-16:].rstrip().endswith(b"}") else b""
        if not whole:
            return None
        self._tries += 1
        try:
            msgspec.json.decode(whole)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            if self._tries >= MAX_TRIES or "truncated" not in str(error):
                raise MessageError("not a JSON object") from error
            return None
        self._buffer.clear()
        return whole


M = TypeVar("M", bound=Message)


def decode(data: bytes, kind: type[M]) -> M:
    try:
        return msgspec.json.decode(_without_nulls(data), type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        raise MessageError(f"not a valid {kind.__name__} message: {error}") from error


def _without_nulls(data: bytes) -> bytes:
    """The agents write null for what they leave out; here that is the default."""
    if b"null" not in data:
        return data
    return msgspec.json.encode(_pruned(msgspec.json.decode(data)))


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _pruned(item) for name, item in value.items() if item is not None}
    return value


_LENGTH = struct.Struct("<q")


def proxy_preface(header: ProxyHeader) -> bytes:
    body = encode(header)
    return _LENGTH.pack(len(body)) + body


class ProxyHeaderReader:
    """Reads the header at the start of a proxy stream; `rest` is what came after it."""

    __slots__ = ("_buffer", "rest")

    def __init__(self) -> None:
        self._buffer = b""
        self.rest = b""

    def feed(self, data: bytes | bytearray | memoryview) -> ProxyHeader | None:
        self._buffer += data
        if len(self._buffer) < 8:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if not 2 <= length <= MAX_PROXY_HEADER:
            raise MessageError(f"proxy header of {length} bytes: valid are 2 to {MAX_PROXY_HEADER}")
        if len(self._buffer) < 8 + length:
            return None
        header = decode(self._buffer[8 : 8 + length], ProxyHeader)
        self.rest = self._buffer[8 + length :]
        self._buffer = b""
        return header
