"""Clocks and randomness are passed in: what calls the machine's own would not be the same twice in the simulator.

A reference to a function, as the default of a parameter, is no call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.sources import modules

CALLS = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "uuid": {"uuid1", "uuid4"},
}
PRODUCT = ("seamark_runtime", "seamark_edge", "seamark")

PROGRAM = "a program, where the machine's clock is chosen"
SOCKETS = "on real sockets: it is not simulated"
ALLOWED = {
    "seamark_runtime/clock.py": "the clock",
    "seamark_runtime/leader.py": "the identity of a process is never that of another",
    "seamark/cli/": PROGRAM,
    "seamark/lifecycle/": PROGRAM,
    "seamark/explain/": PROGRAM,
    "seamark/families/dns/family.py": "the default of a parameter",
    "seamark/providers/edge/rest.py": "the pauses between attempts, where none are given",
    "seamark_edge/agent/": SOCKETS,
    "seamark_edge/edge/": SOCKETS,
    "seamark_edge/forwarder/": SOCKETS,
    "seamark_edge/rest/": SOCKETS,
    "seamark_edge/wire/splice.py": SOCKETS,
}


def calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if name in CALLS.get(owner, ()):
                yield f"{owner}.{name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="random"), attr=name)) if imports_random(path):
                yield f"random.{name}"
            case ast.Call(func=ast.Name(id="Random"), args=[], keywords=[]):
                yield "Random()"


def imports_random(path: Path) -> bool:
    """Whether `random` is the module, and not an argument."""
    return any(
        isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names)
        for node in ast.walk(ast.parse(path.read_text()))
    )


def test_clocks_and_randomness_are_passed_in() -> None:
    found = {f"{name}: {call}()" for name, path in modules(*PRODUCT) for call in calls(path)}
    assert {text for text in found if not text.startswith(tuple(ALLOWED))} == set()
    assert {place for place in ALLOWED if not any(text.startswith(place) for text in found)} == set(), "not needed"


def test_calls_are_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "import random\nx = (time.time(), random.choice(y), Random(), Random(1), datetime.now(UTC), time.time)\n"
    )
    assert sorted(calls(path)) == ["Random()", "datetime.now", "random.choice", "time.time"]
    path.write_text("def pause(random: Random) -> float:\n    return random.random()\n")
    assert list(calls(path)) == []
