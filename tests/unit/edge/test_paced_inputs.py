"""Every place that takes bytes of a peer is bounded in time and in size (docs/security.md); a new one is found here."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import seamark_edge
import seamark_runtime

SOURCES = Path(__file__).parents[3] / "packages"

# Protocols whose input is parsed are paced. The others pass bytes on, at the pace of their reader.
PACED = {
    "PeerConnection",
    "AgentConnection",
    "Link",
    "SecureConnection",
    "IngressConnection",
    "GuardedHandler",
    "BoundedHandler",
}
PASS_ON = {
    "Splice",
    "Buffered",
    "ClientConnection",
    "PublicConnection",
    "UpstreamConnection",
    "Half",
    "Joined",
    "Accepted",
    "PodHalf",
    "EdgeHalf",
}
# The DNS server of development and tests answers one message at a time, and does not read while it can't write.
BY_MESSAGE = {"_Datagrams", "_Connection"}
# A connection that is opened to see whether it is accepted. The first bytes close it.
CLOSED_BY_BYTES = {"Dialling"}


def protocols() -> set[type]:
    names = [
        module.name
        for package in (seamark_edge, seamark_runtime)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
    ]
    found = [
        value for name in names for value in vars(importlib.import_module(name)).values() if inspect.isclass(value)
    ]
    return {kind for kind in found if issubclass(kind, asyncio.BaseProtocol) and kind.__module__ in names}


def taking(kind: type) -> Iterator[str]:
    """The source of every method that the transport hands bytes to."""
    for base in kind.__mro__:
        for name in ("data_received", "buffer_updated"):
            if inspect.isfunction(method := base.__dict__.get(name)):
                yield inspect.getsource(method)


def test_every_protocol_is_paced_or_only_passes_bytes_on() -> None:
    assert {kind.__name__ for kind in protocols()} == PACED | PASS_ON | BY_MESSAGE | CLOSED_BY_BYTES


def test_those_that_parse_hand_their_input_to_the_pacing() -> None:
    for kind in protocols():
        if kind.__name__ in PACED:
            assert any("_input.received(" in source for source in taking(kind)), kind


def test_those_that_only_open_a_connection_close_it_at_the_first_bytes() -> None:
    for kind in protocols():
        if kind.__name__ in CLOSED_BY_BYTES:
            assert any(".abort()" in source for source in taking(kind)), kind


def test_http_servers_are_guarded() -> None:
    """aiohttp's own sites read heads and bodies without the limits of `guardedhttp`."""
    unguarded = {
        path.name
        for path in SOURCES.glob("*/src/**/*.py")
        if any(word in path.read_text() for word in ("TCPSite(", "UnixSite(", "SockSite(", "run_app(", "AppRunner("))
    }
    assert unguarded == {"guardedhttp.py", "http.py"}  # the second is the edge's, with handlers of its own
