"""One run: everything is set up, claims are compared with clients, and faults are injected."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from tests.witness import manifests
from tests.witness.api import Json, Key, key_of
from tests.witness.certificates import Authority, secret
from tests.witness.checker import Checker
from tests.witness.churn import Churn
from tests.witness.claims import CLAIMS, WATCHED, Lab, claims_of
from tests.witness.clients import Clients
from tests.witness.faults import bindings, dns, gateway, loadbalancer, outages, score
from tests.witness.faults.fault import Fault
from tests.witness.lanes import Injector, Lane, Outages, Times
from tests.witness.ledger import Finding, Ledger
from tests.witness.programs import eventually
from tests.witness.report import Outcome, of_finding, unclaimed
from tests.witness.sandbox import EDGE
from tests.witness.windows import Windows
from tests.witness.world import AGENTS, BIN, World

UP = 75.0  # seconds until everything is reached for the first time
LONG = 300.0  # seconds of the longest outage, in a run of more than ten minutes
SHORT = 60.0
LOGS = Path("build-output/witness")


class Run:
    def __init__(self, folder: Path, seed: int, *, short: bool = False) -> None:
        self.began = time.monotonic()
        self.world = World(folder, short=short)
        self.authority = Authority(folder / "own-ca")
        self.windows = Windows()
        self.ledger = Ledger(self.windows, self._report)
        self.checker = Checker(self.ledger, self._lab)
        self.times = Times()
        self.seed = seed
        self._clients: Clients

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)  # noqa: T201

    def _report(self, finding: Finding) -> None:
        self.say(of_finding(finding, self.began))

    # ---- the start

    def start(self) -> None:
        self.world.start()
        self.say("the product is started")
        self.world.apply(self._objects())
        eventually(lambda: self.world.pod_processes("witness/client"), "the clients' Pod runs", UP)
        pid = self.world.pod_processes("witness/client")[0]
        pod = ("nsenter", f"--target={pid}", "--net", "--mount", "--")
        self._clients = Clients(self.world.sandbox.outside, pod)
        self._look()
        self._until_up()

    def _look(self) -> None:
        for kind in WATCHED:
            self.world.api.watch(kind, self._seen)
        self.checker.start()

    def finds_the_liar(self, seconds: float = 60.0) -> bool:
        """The product without objects, beside a program that keeps a status that is false."""
        self.world.start()
        self._clients = Clients(self.world.sandbox.outside, ())
        self._look()
        self.world.program("liar", sys.executable, "-m", "tests.witness.liar", str(self.world.kubeconfig)).start()
        deadline = time.monotonic() + seconds
        while self.ledger.counts.false_true == 0 and time.monotonic() < deadline:
            time.sleep(0.5)
        return self.ledger.counts.false_true > 0

    def _objects(self) -> list[Json]:
        world, program = self.world, str(BIN / "seamark")
        server = f"{EDGE}:{AGENTS}"
        agents = [
            manifests.agent(namespace, program, server, world.folder, world.kubeconfig)
            for namespace in ("lb-a", "lb-b", "bound")
        ]
        secrets = [
            secret("gw", "certificate", self.authority.issue(("s1.example.com",))),
            secret("lb-b", "certificate", self.authority.issue(("e2-lb-b.edge.witness.test",))),
        ]
        families = (manifests.gateways, manifests.balancers, manifests.bindings, manifests.records, manifests.workloads)
        objects = [document for family in families for document in family()]
        return [*secrets, *agents, manifests.forwarder(program, world.kubeconfig), manifests.client(), *objects]

    def _seen(self, obj: Json, deleted: bool) -> None:
        if obj["kind"] == "Lease":
            if obj["metadata"]["name"] == "seamark":
                self.windows.renewed(time.monotonic())
        elif self.ledger.seen(obj, deleted):
            self.checker.soon(lambda key: key == key_of(obj))

    def _lab(self) -> Lab:
        edge = self.world.folder / "edge"
        key = (edge / "api-key").read_text().strip()
        own = str(self.authority.file)
        return Lab(self._clients, str(edge / "ca.pem"), own, self.ledger.objects, key, self.world.ready_pods)

    def _until_up(self) -> None:
        """Until clients succeed everywhere, or are known not to: then the run goes on, and tells it."""
        injector = Injector(self.ledger, self.times, self.say, self.checker.soon)
        deadline = time.monotonic() + UP

        def ill() -> list[Key]:
            there = {key for key, obj in list(self.ledger.objects.items()) if list(claims_of(obj))}
            return sorted(key for key in there if not injector.well([key]))

        def missing() -> set[str]:
            return {claim.kind for claim in CLAIMS if claim.leading} - {key[0] for key in self.ledger.objects}

        while (missing() or ill()) and time.monotonic() < deadline:
            time.sleep(0.5)
        for key in ill():
            sights = [sight for entry, sight in self.ledger.sights.items() if entry[0] == key]
            self.say(f"not up: {' '.join(key)}: {[sight.last.detail for sight in sights if sight.last]}")
            for (other, condition), course in list(self.ledger.courses.items()):
                if other == key:
                    self.say(f"        {condition}={course.changes[-1].status}: {course.changes[-1].text}")
        self.say("everything is up" if not ill() else "going on")

    # ---- the faults

    def torment(self, minutes: float) -> None:
        injector = Injector(self.ledger, self.times, self.say, self.checker.soon)
        lanes, locks = self._lanes(injector)
        limit = LONG if minutes > 10 else SHORT
        outage = Outages(injector, lambda seconds: outages.outages(self.world, seconds), limit, self.seed)
        outage.locks = locks
        churn = Churn(self.world.api, self.windows, self.seed)
        threads: list[threading.Thread] = [*lanes, outage, churn]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + minutes * 60
        while time.monotonic() < deadline:
            time.sleep(0.5)
            self._restart()
        injector.over.set()
        churn.over.set()
        for thread in threads:
            thread.join(90)
        for error in injector.errors:
            self.say(f"not injected or not repaired: {error}")
        time.sleep(10)

    def _restart(self) -> None:
        """What has ended by itself is started again, as a Deployment would."""
        for program in self.world.programs.values():
            if program.ended:
                self.times.ended.append(program.name)
                self.say(f"ended by itself: {program.name}: {program.last_lines(3)}")
                program.start()

    def _lanes(self, injector: Injector) -> tuple[list[Lane], dict[str, threading.Lock]]:
        def bound() -> dict[str, Key]:
            there = [obj for key, obj in self.ledger.objects.items() if key[0] == "BoundEndpoint"]
            return {obj["spec"]["target"]["service"]: key_of(obj) for obj in there}

        families: list[list[Fault]] = [
            gateway.faults(self.world, self.authority),
            loadbalancer.faults(self.world, self.authority),
            bindings.faults(self.world, bound),
            dns.faults(self.world),
            score.faults(self.world),
        ]
        locks = {faults[0].family: threading.Lock() for faults in families}
        made = [Lane(injector, faults, locks[faults[0].family], self.seed) for faults in families]
        return made, locks

    def outcome(self, minutes: float) -> Outcome:
        return Outcome(minutes, self.ledger.counts, self.times, unclaimed(self.ledger), self.ledger.latest)

    def stop(self) -> None:
        self.checker.stop()
        self.world.close()
        LOGS.mkdir(parents=True, exist_ok=True)
        for program in self.world.programs.values():
            if program.log.exists():
                (LOGS / program.log.name).write_bytes(program.log.read_bytes())
