"""Two sessions joined back to back, without a socket between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from seamark_edge.wire.muxado import (
    Limits,
    Session,
    Stream,
)
from seamark_edge.wire.muxado.frames import Bytes


@dataclass
class Taker:
    """A stream's owner that keeps what came, and credits it unless it is to hold back."""

    stream: Stream | None = None
    greedy: bool = True
    data: bytearray = field(default_factory=bytearray)
    is_ended: bool = False
    lost_with: int | None = None
    roused: int = 0

    def received(self, data: Bytes) -> None:
        self.data += data
        if self.greedy and self.stream:
            self.stream.credit(len(data))

    def ended(self) -> None:
        self.is_ended = True

    def lost(self, code: int) -> None:
        self.lost_with = code

    def writable(self) -> None:
        self.roused += 1


class End:
    """One side: queues what its session transmits until the test carries it over."""

    def __init__(self, *, client: bool, greedy: bool = True, limits: Limits | None = None) -> None:
        self.session = Session(self, client=client, limits=limits)
        self.out: deque[bytes] = deque()
        self.taken: dict[int, Taker] = {}
        self.kinds: list[int] = []
        self.greedy = greedy
        self.gone: tuple[int, bytes] | None = None

    def transmit(self, pieces: list[Bytes]) -> None:
        self.out.extend(bytes(piece) for piece in pieces)

    def opened(self, stream: Stream, kind: int) -> Taker:
        self.kinds.append(kind)
        self.taken[stream.id] = Taker(stream, self.greedy)
        return self.taken[stream.id]

    def going_away(self, code: int, debug: bytes) -> None:
        self.gone = (code, debug)

    def failed(self, error: Exception) -> None:
        raise error

    def open(self, kind: int = 7, first: bytes = b"") -> tuple[Stream, Taker]:
        taker = Taker(greedy=self.greedy)
        taker.stream = self.session.open(kind, taker, first)
        return taker.stream, taker


def pair(*, greedy: bool = True) -> tuple[End, End]:
    return End(client=True), End(client=False, greedy=greedy)


def carry(one: End, other: End) -> None:
    """Move bytes until neither sends any."""
    while one.out or other.out:
        if one.out:
            other.session.feed(one.out.popleft())
        if other.out:
            one.session.feed(other.out.popleft())
