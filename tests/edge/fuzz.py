"""`python -m tests.edge.fuzz [SECONDS]`: the codecs and parsers under atheris, guided by coverage. A long run.

Only the errors that a parser promises may come out; anything else is a finding, and the input is printed with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

from tests.edge.sdks import cache, python_of


def one(data: bytes) -> None:
    """The first byte chooses the parser, the rest is its input; pieces of it, where the parser takes pieces."""
    from seamark_edge.edge.binds import labelled_url, read_bind  # noqa: PLC0415  # atheris instruments what is imported here
    from seamark_edge.edge.errors import Refusal  # noqa: PLC0415
    from seamark_edge.edge.policy import EMPTY  # noqa: PLC0415
    from seamark_edge.edge.policy_document import parse_policy  # noqa: PLC0415
    from seamark_edge.edge.urls import parse_url  # noqa: PLC0415
    from seamark_edge.wire import bindings, clienthello, proxy_protocol, tunnel  # noqa: PLC0415
    from seamark_edge.wire.expressions import ExpressionError, value  # noqa: PLC0415

    kind, rest = (data[0] % 12, data[1:]) if data else (0, b"")
    text = rest.decode("utf-8", "replace")
    if kind == 0:
        session(rest)
    elif kind == 1:
        with suppress(tunnel.MessageError):
            tunnel.JsonReader().feed(rest)
            tunnel.decode(rest, tunnel.Bind)
    elif kind == 2:
        with suppress(bindings.PreambleError):
            bindings.ConnRequest.decode(rest)
            bindings.ConnResponse.decode(rest)
    elif kind == 3:
        with suppress(proxy_protocol.ProxyError):
            proxy_protocol.parse(rest)
    elif kind == 4:
        with suppress(clienthello.NotTls):
            clienthello.server_name(rest)
    elif kind == 5:
        with suppress(Refusal):
            parse_url(text)
    elif kind == 6:
        with suppress(Refusal):
            parse_policy(text)
    elif kind == 7:
        with suppress(tunnel.MessageError):
            tunnel.ProxyHeaderReader().feed(rest)
    elif kind == 8:
        body(rest)
    elif kind == 9:
        with suppress(Refusal):
            read_bind(
                tunnel.Bind(proto="tcp", opts={"URL": text, "IPRestriction": text}),
                EMPTY,
                "edge.localhost",
                lambda _: 443,
            )
    elif kind == 10:
        with suppress(Refusal):
            labelled_url({text: text})
    else:
        with suppress(ExpressionError):
            value(text, {"ep": {"metadata": "x"}})


def body(data: bytes) -> None:
    """A body of the REST API, as every resource reads it."""
    import msgspec  # noqa: PLC0415

    from seamark_edge.edge.errors import Refusal  # noqa: PLC0415
    from seamark_edge.rest import access, base, endpoints, operators, ranges, reserved  # noqa: PLC0415

    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return
    for module in (access, endpoints, operators, ranges, reserved):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, base.Body):
                with suppress(Refusal):
                    base.set_fields(base.read(raw, kind))


def session(data: bytes) -> None:
    from seamark_edge.wire.muxado import Limits, ProtocolError, Session  # noqa: PLC0415
    from seamark_edge.wire.muxado.stream import DISCARD  # noqa: PLC0415

    class Owner:
        def transmit(self, pieces: list[Any]) -> None:
            pass

        def opened(self, stream: Any, kind: int) -> Any:
            return DISCARD

        def going_away(self, code: int, debug: bytes) -> None:
            pass

        def failed(self, error: Exception) -> None:
            raise error

    under_test = Session(Owner(), client=False, limits=Limits(inbound=8))
    under_test.open(3, DISCARD)
    step = data[0] % 40 + 1 if data else 1
    with suppress(ProtocolError):
        for at in range(0, len(data), step):
            under_test.feed(data[at : at + step])
    assert len(under_test.streams) <= 9


def fuzz() -> None:
    import atheris  # type: ignore[import-untyped]  # noqa: PLC0415  # in an environment of its own

    with atheris.instrument_imports(include=["seamark"]):
        one(b"\x05tcp://a:1")
        session(b"")
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


def main() -> int:
    seconds = sys.argv[1] if len(sys.argv) > 1 else "600"
    packages = next(python_of("atheris", "3.0.0").parent.parent.glob("lib/python*/site-packages"))
    corpus = cache().parent / "fuzz" / "edge"
    corpus.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", "from tests.edge.fuzz import fuzz; fuzz()", str(corpus), f"-max_total_time={seconds}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(packages)])},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
