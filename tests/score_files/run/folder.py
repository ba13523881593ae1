"""One folder in a namespace of its own, from its first command to its last step."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.score_files.corpus import Case
from tests.score_files.forms import Apply, Delete, Execute, Expect, Refused, Step
from tests.score_files.matching import refusal_differs
from tests.score_files.run.cluster import SEAMARK, Cluster, Ran
from tests.score_files.run.found import Found, look
from tests.score_files.run.requests import objects_differ, request_differs
from tests.score_files.run.workloads import waits_for_the_other, workload_differs

GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kgateway}
spec: {controllerName: kgateway.dev/kgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: default}
spec:
  gatewayClassName: kgateway
  listeners: [{name: http, port: 8080, protocol: HTTP}]
"""


@dataclass(frozen=True)
class Pace:
    """Seconds: for every wait, and before what is expected to be absent is looked at again."""

    deadline: float = 60.0
    again: float = 10.0


@dataclass
class Outcome:
    """What was found of a folder. `met` names what holds of it: accepted, ready, endpoint, answered."""

    name: str
    problems: list[str] = field(default_factory=list)
    met: set[str] = field(default_factory=set)
    lacks: tuple[str, ...] = ()  # what the cluster does not have; then only acceptance was checked
    seconds: float = 0.0


@dataclass
class Folder:
    """Runs one case. `problems` of the outcome are sentences, each with the step that it belongs to."""

    cluster: Cluster
    case: Case
    pace: Pace
    offers: frozenset[str]

    def __post_init__(self) -> None:
        self.namespace = f"f-{self.case.name}"[:63].rstrip("-")
        self.outcome = Outcome(self.case.name)
        self.endpoints: dict[str, str | None] = {}
        self.variables: dict[str, str] = {}

    async def run(self) -> Outcome:
        began = time.monotonic()
        expectation = self.case.expectation
        await self.cluster.run("kubectl", "create", "namespace", self.namespace)
        self.outcome.lacks = tuple(need for need in expectation.needs if need not in self.offers)
        if "gateway" in expectation.needs and "gateway" in self.offers:
            await self.cluster.kubectl(self.namespace, "apply", "-f", "-", text=GATEWAY)
        if expectation.given:
            given = await self.cluster.kubectl(
                self.namespace, "apply", "-f", expectation.given, folder=self.case.folder
            )
            self._problem("given", *([given.errors] if given.code else []))
        ran = await self.apply(expectation.apply)
        if expectation.refused is not None:
            if ran.code != 0 or not self.outcome.lacks:  # what depends on a server that is not there can't be known
                await self.refused("", expectation.refused, ran)
        else:
            await self._accepted(ran)
        self.outcome.seconds = time.monotonic() - began
        await self.cluster.run("kubectl", "delete", "namespace", self.namespace, "--wait=false")
        return self.outcome

    async def _accepted(self, ran: Ran) -> None:
        if ran.code != 0:
            self._problem("", f"the command is refused: {ran.errors.strip()[:500]}")
            return
        if not await self._inputs_valid():
            return
        self.outcome.met.add("accepted")
        if self.outcome.lacks or self.case.expectation.expect is None:
            return
        if not await self.expected("", self.case.expectation.expect):
            return
        for step in self.case.expectation.then:
            if not await self.step(step):
                return

    async def _inputs_valid(self) -> bool:
        """Whether the platform can plan it: what it can't know yet is no fault of the file."""
        names = list(self.case.expectation.expect.workloads) if self.case.expectation.expect else []
        until = time.monotonic() + self.pace.deadline
        wrong = ["not looked at"]
        while wrong and time.monotonic() < until:
            found = await look(self.cluster, self.namespace)
            conditions = {name: found.condition(name, "InputsValid") for name in names}
            unknown = {name for name in names if self._may_be_unknown(name)}
            wrong = [
                f"{name}: {(condition or {}).get('message', 'no condition')}"
                for name, condition in conditions.items()
                if name not in unknown and (condition is None or condition["status"] != "True")
            ]
            if wrong:
                await asyncio.sleep(0.5)
        self._problem("accepted", *wrong)
        return not wrong

    def _may_be_unknown(self, name: str) -> bool:
        expect = self.case.expectation.expect
        return expect is not None and expect.workloads[name].ready is not True

    # ---- actions

    async def apply(self, command: Apply) -> Ran:
        options = [word for file in command.files for word in ("-f", file)]
        options += ["--image", command.image] if command.image else []
        options += ["--overrides-file", command.overrides_file] if command.overrides_file else []
        options += [word for each in command.override_properties for word in ("--override-property", each)]
        arguments = (SEAMARK, "score", "apply", "-n", self.namespace, *options)
        return await self.cluster.run(*arguments, folder=Path(self.case.folder), environment=command.environment)

    async def delete(self, step: Delete) -> Ran:
        cascade = f"--cascade={step.propagation.lower()}"
        return await self.cluster.kubectl(self.namespace, "delete", "workload", step.workload, cascade, "--timeout=30s")

    async def restart(self, workload: str) -> None:
        found = await look(self.cluster, self.namespace)
        before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found.pods(workload)}
        await self.cluster.kubectl(self.namespace, "delete", "pod", *before, "--timeout=40s")
        until = time.monotonic() + self.pace.deadline
        while time.monotonic() < until:
            now = (await look(self.cluster, self.namespace)).pods(workload)
            if now and not {pod["metadata"]["uid"] for pod in now} & set(before.values()):
                return
            await asyncio.sleep(0.5)

    async def execute(self, step: Execute) -> Ran:
        found = await look(self.cluster, self.namespace)
        pod = found.pod(step.workload)
        if pod is None:
            return Ran(1, b"", f"{step.workload} has no Pod")
        return await self.cluster.execute(self.namespace, pod["metadata"]["name"], step.container, step.command)

    async def step(self, step: Step) -> bool:
        ran = Ran(0, b"", "")
        if step.apply is not None:
            ran = await self.apply(step.apply)
        elif step.delete is not None:
            ran = await self.delete(step.delete)
        elif step.restart is not None:
            await self.restart(step.restart)
        elif step.run is not None:
            ran = await self.execute(step.run)
        if step.refused is not None:
            if not await self.refused(step.step, step.refused, ran):
                return False
        elif ran.code != 0:
            self._problem(step.step, f"the command ends with {ran.code}: {ran.errors.strip()[:400]}")
            return False
        return step.expect is None or await self.expected(step.step, step.expect)

    # ---- what is found

    async def refused(self, step: str, expected: Refused, ran: Ran) -> bool:
        if ran.code != 0:
            problems = list(refusal_differs(expected, ran.errors))
            if not step and (await look(self.cluster, self.namespace)).objects["Workload"]:
                problems.append("something was created nevertheless")
            self._problem(step, *(f"{problem}; the message is {ran.errors.strip()[:400]}" for problem in problems))
            return not problems
        if expected.stage == "file":
            self._problem(step, "the command accepts it")
            return False

        async def differs(found: Found) -> AsyncIterator[str]:
            messages = {name: found.messages(name) for name in found.objects["Workload"] if not found.ready(name)}
            problems = [list(refusal_differs(expected, message)) for message in messages.values()]
            if not any(not each for each in problems):
                yield f"no Workload is refused for it: {' '.join(messages.values())[:400] or 'they are Ready'}"

        return await self._until(step, differs)

    async def expected(self, step: str, expect: Expect) -> bool:
        earlier = dict(self.variables)

        async def differs(found: Found) -> AsyncIterator[str]:
            found.variables, found.earlier = self.variables, earlier
            for name, workload in expect.workloads.items():
                async for problem in workload_differs(found, name, workload, self.endpoints):
                    yield f"{name}: {problem}"
            for request in expect.requests:
                async for problem in request_differs(found, request):
                    yield problem
            for each in expect.objects:
                async for problem in objects_differ(found, each):
                    yield problem

        held = await self._until(step, differs)
        if held and any(waits_for_the_other(each) for each in expect.workloads.values()):
            await asyncio.sleep(self.pace.again)
            held = await self._until(f"{step} (again)", differs, 1.0)
        found = await look(self.cluster, self.namespace)
        self.endpoints = {name: found.endpoint(name) for name in found.objects["Workload"]}
        if not step:
            await self._measure(found, expect)
        return held

    async def _measure(self, found: Found, expect: Expect) -> None:
        wanted = expect.workloads.items()
        if all(found.ready(name) for name, each in wanted if each.ready is True):
            self.outcome.met.add("ready")
        if all(found.endpoint(name) for name, each in wanted if each.endpoint not in (None, "none")):
            self.outcome.met.add("endpoint")
        problems = [problem for request in expect.requests async for problem in request_differs(found, request)]
        if not problems:
            self.outcome.met.add("answered")

    async def _until(
        self, step: str, differs: Callable[[Found], AsyncIterator[str]], deadline: float | None = None
    ) -> bool:
        """Until nothing differs, or the deadline has passed: then what still does."""
        until = time.monotonic() + (self.pace.deadline if deadline is None else deadline)
        pause = 0.5
        while True:
            found = await look(self.cluster, self.namespace)
            problems = [problem async for problem in differs(found)]
            if not problems or time.monotonic() > until:
                self._problem(step, *problems)
                return not problems
            await asyncio.sleep(pause)
            pause = min(3.0, pause * 1.4)

    def _problem(self, step: str, *problems: str) -> None:
        self.outcome.problems += [f"{step}: {problem}" if step else problem for problem in problems]
