"""Reconciles are pure: each function of every controller, twice, on recorded inputs, with all reachable state compared.

- The inputs are the scenarios of every family, `recorded/`, the start of an undisturbed schedule of every family, and a
  rollout on the developer's cluster.
- A controller is known by the place in the source where it is declared: one that no input reaches fails the test.
"""

from __future__ import annotations

import ast
import asyncio
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
import yaml

from seamark.console.graph import graph
from seamark.families.dns.family import controllers as dns
from seamark.families.dns.model.options import Options as DnsOptions
from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Cluster, Front, Options
from seamark.families.score.family import controllers as score
from seamark.families.score.model.options import Options as ScoreOptions
from seamark.providers.board.memory import MemoryBoard
from seamark.providers.dns.memory import MemoryProvider
from seamark_cluster.controllers.accounts import Seen as Account
from seamark_cluster.controllers.manager import SETTINGS
from seamark_cluster.controllers.manager import controllers as cluster_controllers
from seamark_cluster.embedded import EmbeddedTransport
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.client import Client
from seamark_runtime.controller import CollectionController, Controller, Declaration
from seamark_runtime.memory import Acknowledging
from seamark_runtime.operator import Operator
from seamark_runtime.operator import World as OperatorWorld
from seamark_runtime.resolver import Resolver
from seamark_runtime.source import Collection, Facts
from seamark_runtime.view import View
from tests.greetings import greeting_controller as greetings
from tests.purity import FUNCTIONS, checked, is_outside
from tests.simulation import runner, world
from tests.simulation.bindings.scenario import BindingsScenario
from tests.simulation.loadbalancer import LoadBalancerScenario
from tests.simulation.schedules import Schedule
from tests.sources import modules
from tests.unit.cluster.controllers.small_cluster import Cluster as SmallCluster
from tests.unit.cluster.controllers.small_cluster import service, workload
from tests.unit.operator.families.dns.zones import ZONE, rules
from tests.unit.operator.families.scenarios import Play, files
from tests.unit.operator.families.test_scenarios import FAMILIES, SCENARIOS
from tests.virtual_time import CLOCK, run

HERE = Path(__file__).parent
GATEWAYS = HERE.parent / "unit" / "operator" / "families" / "gateway"
RANGE = ("192.0.2.0/24",)
GATEWAY_OPTIONS = {
    "gateway": Options(addresses=RANGE),
    "httproute": Options(addresses=RANGE),
    "fronts": Options(addresses=RANGE, front=Front()),
    "pods": Options(cluster=Cluster()),
}
SIMULATED = ("bindings", "dns", "gateway", "loadbalancer", "score", "score-runtime")
OFTEN = 12  # how many calls of a function are tried in a schedule
Place = tuple[str, int]


class Sweeping(LoadBalancerScenario):
    """With the sweep, which is off unless a grace period is set."""

    def __init__(self) -> None:
        super().__init__()
        self.options = replace(self.options, sweep=1200.0)


class SweepingBindings(BindingsScenario):
    """With the sweep of registrations."""

    def __init__(self) -> None:
        super().__init__()
        self.options = replace(self.options, sweep=1200.0)


@dataclass
class Record:
    """What was declared where, which functions were tried, and what was found."""

    declared: dict[Place, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(dict))
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)

    def checked(self, controller: Declaration, *_others: Any, most: float = float("inf")) -> Declaration:
        """As `checked`; with `most`, while its functions were not tried so often."""
        before = Counter(self.tried)

        def due() -> bool:
            mine = [count - before[name] for name, count in self.tried.items() if name[0] == controller.name]
            return sum(mine) < most * 5

        return checked(controller, self.found, due, lambda *called: self.tried.update([called]))

    def untried(self) -> set[str]:
        """Declarations that were never made, and functions that were never called."""
        missing = {f"{Path(path).parent}:{line}" for path, line in places() - set(self.declared)}
        for (path, line), names in self.declared.items():
            done = {function for name in names for tried, function in self.tried if tried == name}
            wanted = set.intersection(*names.values())
            missing |= {f"{Path(path).parent}:{line}: {function}" for function in wanted - done}
        return missing


def places() -> set[Place]:
    """Where controllers are declared."""
    return {
        (str(path), node.lineno)
        for _, path in modules()
        if "Controller(" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in (Controller.__name__, CollectionController.__name__)
    }


def functions(declared: Declaration) -> set[str]:
    """Those that must be tried."""
    found = {name for name in FUNCTIONS if getattr(declared, name, None) is not None}
    if isinstance(declared, CollectionController):
        found |= {f"report on {output.collection.name}" for output in declared.outputs}
    if declared.memory is not None:
        found |= {"advance"} | ({"acknowledgement"} if isinstance(declared.memory, Acknowledging) else set())
    return found


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    """Notes each declaration that is made, by its place."""
    record = Record()
    for kind in (Controller, CollectionController):

        def init(self: Any, _make: Any = kind.__init__, **fields: Any) -> None:
            _make(self, **fields)
            caller = sys._getframe(1)
            record.declared[(caller.f_code.co_filename, caller.f_lineno)][self.name] = functions(self)

        monkeypatch.setattr(kind, "__init__", init)
    return record


def play(record: Record, path: Path, declared: tuple[Declaration, ...]) -> None:
    Play(tuple(map(record.checked, declared)), next(yaml.safe_load_all(path.read_text()))).run()


def play_scenarios(record: Record) -> None:
    for family, path in SCENARIOS:
        play(record, path, FAMILIES[family]())
    for folder, options in GATEWAY_OPTIONS.items():
        for path in files(GATEWAYS / folder / "scenarios"):
            play(record, path, gateway(options, MemoryDataPlane(listens=True)))


def play_recorded(record: Record) -> None:
    folder = HERE / "recorded"
    play(record, folder / "backendtlspolicy.yaml", gateway(Options(addresses=RANGE), MemoryDataPlane(listens=True)))
    moved = Options(addresses=RANGE, former_namespace="seamark-system")
    play(record, folder / "backendtlspolicy.yaml", gateway(moved, MemoryDataPlane(listens=True)))
    play(record, folder / "configuration.yaml", score(ScoreOptions(), Resolver()))
    sources = dns(DnsOptions(rules(sources=frozenset(("service",)))), MemoryProvider((ZONE,)))
    play(record, folder / "service.yaml", sources)
    play(record, folder / "service.yaml", (graph(Collection("endpoints")),))


def simulate(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "checked", partial(record.checked, most=OFTEN))
    monkeypatch.setitem(runner.SCENARIOS, "loadbalancer", Sweeping)
    monkeypatch.setitem(runner.SCENARIOS, "bindings", SweepingBindings)
    for family in SIMULATED:
        assert runner.simulate(Schedule(family)).violation is None


def roll_out(record: Record) -> None:
    """On the developer's cluster."""

    async def whole() -> None:
        cluster = SmallCluster()
        transport, random = EmbeddedTransport(cluster.store), Random(2)
        declared = cluster_controllers(Client(transport, manager="manager"), "certificate")
        operator = Operator(
            OperatorWorld(transport, CLOCK, random, "manager"), [*map(record.checked, declared)], SETTINGS
        )
        work = asyncio.ensure_future(operator.run())
        await cluster.settled()
        cluster.store.create(service("app"))
        claims: Any = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
        for manifest in (
            workload("Deployment", "app", replicas=2),
            workload("StatefulSet", "database", replicas=2, serviceName="app", volumeClaimTemplates=claims),
        ):
            cluster.store.create(manifest)
        await cluster.settled()
        await cluster.kubelet()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    run(whole())


def test_every_function_of_every_controller_gives_the_same_twice_and_changes_nothing(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_scenarios(record)
    play_recorded(record)
    roll_out(record)
    simulate(record, monkeypatch)
    assert record.found == []
    assert record.untried() == set(), "add a scenario that reaches them, or a file in `recorded`"


@dataclass
class Forgetful:
    """A controller's function with hidden state."""

    calls: list[Any] = field(default_factory=list)

    def desire(self, seen: Any) -> Any:
        self.calls.append(seen)
        return len(self.calls)


def desired(desire: Any, seen: Any) -> tuple[Any, list[str]]:
    """The result of the second run, and what was found."""
    found: list[str] = []
    result: Any = checked(replace(greetings(MemoryBoard()), desire=desire), found).desire(seen)
    return result, found


def test_hidden_state_and_changing_results_are_found() -> None:
    assert desired(Forgetful().desire, "x") == (
        2,
        ["greetings: desire changes state", "greetings: desire returns something else the second time"],
    )


def test_a_changed_argument_is_found() -> None:
    def desire(seen: list[str]) -> int:
        seen.sort()
        return 1

    assert desired(desire, ["b", "a"]) == (1, ["greetings: desire changes state"])


def test_state_in_a_default_is_found() -> None:
    def desire(_seen: str, calls: list[int] = []) -> int:  # noqa: B006  the mistake that is to be found
        calls.append(1)
        return 1

    def keyword(_seen: str, *, calls: dict[str, int] = {}) -> int:  # noqa: B006
        calls[f"{len(calls)}"] = 1
        return 1

    assert desired(desire, "x") == (1, ["greetings: desire changes state"])
    assert desired(keyword, "x") == (1, ["greetings: desire changes state"])


CALLS: list[int] = []


@dataclass(frozen=True)
class Frozen:
    """Its method changes a global."""

    def desire(self, _seen: str) -> int:
        def later() -> None:
            CALLS.append(1)  # a global is named by inner code, too

        later()
        return 1


def test_state_in_a_module_is_found() -> None:
    def desire(_seen: str) -> int:
        CALLS.append(1)
        return 1

    assert desired(desire, "x") == (1, ["greetings: desire changes state"])
    assert desired(Frozen().desire, "x") == (1, ["greetings: desire changes state"])


@pytest.mark.parametrize("later", [True, False])
def test_reads_that_depend_on_anything_but_the_facts_are_found(later: bool) -> None:
    found: list[str] = []
    facts: Facts[str, int] = Facts("numbers")
    runs = iter((False, True))

    def observe(view: View, _greeting: Any, _results: Any) -> int:
        if next(runs):
            view.fact(facts, "x")
            view.requeue_at = 5.0 if later else view.requeue_at
        return 1

    impure = replace(greetings(MemoryBoard()), observe=observe)
    checked(impure, found).observe(View({}, 0.0), Key("default", "x"), Results())
    assert "greetings: observe reads something else the second time" in found


def test_what_a_controller_of_the_developers_cluster_saw_counts_as_state() -> None:
    assert is_outside(EmbeddedTransport(cast("Any", None)))
    assert not is_outside(Account("default", ""))


def test_a_controller_that_no_input_reaches_is_found(record: Record) -> None:
    assert len(record.untried()) == len(places()) > 40
    declared = graph(Collection("endpoints"))
    (place,) = record.declared
    assert place in places()
    missing = {text for text in record.untried() if "console" in text}
    assert len(missing) == len(functions(declared)) == 3
