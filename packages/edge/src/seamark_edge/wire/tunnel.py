"""The session RPCs between agents and an edge: stream types, messages, the proxy header.

- A request or an answer is one JSON object without a length; `JsonReader` finds its end, within bounds.
- Field names are those of the official agents; where two of them spell a field in two ways, both are read.
- Whatever a peer sends is a message or a `MessageError`: no other exception leaves this module. Numbers in the fields
  of messages have 64 bits.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from seamark_edge.wire.json_stream import ObjectEnd, TooDeep
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_plain_json

MAX_MESSAGE = 256 * 1024  # a policy of 64 KiB, quoted, and the other fields
MAX_AUTH = 64 * 1024  # of an agent that is not authenticated yet
MAX_DEPTH = 64  # levels of maps and lists; the deepest policies of the official agents have ten
LIMITS = Limits(size=MAX_MESSAGE, depth=MAX_DEPTH)
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
    CHECK = 0x53000001  # ours, of the edge: dial an upstream now; sent to agents that know it
    REPORT = 0x53000002  # ours, of the agent: the result of dialling an upstream; sent to edges that know it
    UNUSABLE = 0x53000003  # ours, of the agent: why it can't hold an endpoint; sent to edges that know it
    HEARTBEAT = 0xFFFFFFFF


class MessageError(Exception):
    """Not a message of this protocol; the text is fit for the peer."""


Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]  # as the agents' own types


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """Base of the messages: names in PascalCase, unknown fields ignored, null for "not set" where there is a
    default."""


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
    heartbeat_interval: Int64 = 0  # nanoseconds
    heartbeat_tolerance: Int64 = 0
    stop_unsupported_error: str | None = None
    restart_unsupported_error: str | None = None
    update_unsupported_error: str | None = None
    window: Int64 | msgspec.UnsetType = (
        msgspec.UNSET
    )  # ours: bytes that may be under way per stream, if both sides know
    reports: bool | msgspec.UnsetType = msgspec.UNSET  # ours: it dials an upstream when asked, and reports the result

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
    session_duration: Int64 = 0
    plan_name: str = ""
    banner: str = ""
    window: Int64 | msgspec.UnsetType = msgspec.UNSET
    reports: bool | msgspec.UnsetType = msgspec.UNSET  # ours: reports about upstreams are accepted


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
    generation: Int64 | msgspec.UnsetType = msgspec.UNSET  # ours: which version of what `name` names this is


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


class CheckUpstream(Message, frozen=True, kw_only=True):
    """Asks an agent to dial the upstream of this bind."""

    id: str = ""


class UpstreamReport(Message, frozen=True, kw_only=True):
    """Whether the upstream of this bind accepted a connection, and why not."""

    id: str = ""
    reachable: bool = False
    detail: str = ""
    error: str = ""


class UnusableEndpoint(Message, frozen=True, kw_only=True):
    """Why the agent can't hold an endpoint as its owner wants it. An empty message: nothing is wrong any more."""

    name: str = ""
    url: str = ""
    generation: Int64 = 0
    message: str = ""


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
    - It raises `MessageError` as soon as the bytes can't become an object: they do not start like one, are more than
      `limit`, or are nested too deep.
    """

    __slots__ = ("_buffer", "_end", "_limit", "_size")

    def __init__(self, limit: int = MAX_MESSAGE) -> None:
        self._limit = limit
        self._buffer: list[bytes] = []
        self._end = ObjectEnd(MAX_DEPTH)
        self._size = 0

    def feed(self, data: bytes | bytearray | memoryview) -> bytes | None:
        piece = bytes(data) if self._buffer else bytes(data).lstrip()
        if not piece:
            return None
        self._size += len(piece)
        if self._size > self._limit:
            raise MessageError(f"message of more than {self._limit} bytes")
        if not self._buffer and not piece.startswith(b"{"):
            raise MessageError("not a JSON object")
        self._buffer.append(piece)
        try:
            if not self._end.feed(piece):
                return None
        except TooDeep as error:
            raise MessageError(str(error)) from error
        whole = b"".join(self._buffer).rstrip()
        self._buffer, self._end, self._size = [], ObjectEnd(MAX_DEPTH), 0
        return whole


M = TypeVar("M", bound=Message)


def decode(data: bytes, kind: type[M]) -> M:
    try:
        value = decode_plain_json(data, LIMITS)
        return msgspec.convert(_without_nulls(value), type=kind)
    except Malformed as error:
        raise MessageError(f"not a valid {kind.__name__} message: {error}") from error
    except (ValueError, TypeError, OverflowError) as error:
        raise MessageError(f"not a valid {kind.__name__} message: {str(error)[:200]}") from error


def _without_nulls(message: Any) -> Any:
    """The agents write null for what they leave out; here that is the default. Options are left as they are."""
    if not isinstance(message, dict):
        return message
    fields = {name: value for name, value in message.items() if value is not None}
    if isinstance(extra := fields.get("Extra"), dict):
        fields["Extra"] = {name: value for name, value in extra.items() if value is not None}
    return fields


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
