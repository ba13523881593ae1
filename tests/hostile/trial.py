"""One case on the API server: its objects are made, watched, looked at from outside, and deleted."""

from __future__ import annotations

import asyncio
import json

import aiohttp

from seamark_cluster.network.closed import NODE
from tests.hostile import probes
from tests.hostile.bases import filled
from tests.hostile.cases import Case
from tests.hostile.client import MERGE, Answer, Client, Json, Watching
from tests.hostile.client import Place as Api
from tests.hostile.documents import encoded
from tests.hostile.known_names import CANARY_HOST, HOSTILE
from tests.hostile.results import Result, Shown, shown
from tests.hostile.verdict import Outcome, Seen, decided, judged, not_ours, reasons, spoken
from tests.hostile.world import World, address, fronts, gateway

DEADLINE, QUIET, DECIDE = 12.0, 1.0, 3.0
NO_RESPONSE = 599  # nor would there be one later
SUSPECT = ("traversal", "foreign", "name", "template", "base", "instance")
TLS_KINDS = ("Gateway", "ListenerSet", "AgentEndpoint", "CloudEndpoint", "Secret")


class Trials:
    """Tries cases, each under a name of its own."""

    def __init__(self, there: World, client: Client, places: dict[str, Api]) -> None:
        self._world = there
        self._client = client
        self._places = places
        self._leaks: dict[str, list[str]] = {}  # by name of the object
        self.watching = Watching(client, HOSTILE, self.inspect)
        self.speaks: dict[Shown, bool] = {}  # whether something is reported about a base
        self._fronts = [address(gateway(there, *front)) for front in fronts(there)]
        self._front = self._fronts[0]

    def start(self) -> None:
        self.watching.start(self._places.values())

    def inspect(self, kind: str, name: str, line: bytes) -> None:
        """Every byte that the hostile tenant can read."""
        for text in self._world.markers.texts:
            if text in line:
                self._leaks.setdefault(name, []).append(f"{kind} {name} shows {text[:12].decode()}...")

    @property
    def leaks(self) -> list[str]:
        """Markers that were seen in what belongs to no case, or after its case was judged."""
        return sorted({words for several in self._leaks.values() for words in several})

    @property
    def left(self) -> list[str]:
        """Objects of cases that are still there."""
        ours = [(kind, name) for kind, name in self.watching.names() if name.startswith("h-")]
        return [f"{kind} {name}" for kind, name in ours if kind in self._places and kind != "Event"]

    async def tried(self, name: str, case: Case) -> Result:
        """What comes of the case. Its objects stay until `delete`."""
        words = self._words(name)
        base = case.base.named(words)
        before, after = ([], base.beside) if base.shown_by else (base.beside, ())
        for manifest in before:
            await self._beside(manifest)
        answer = await self._make(case.kind, encoded(case.object(words)))
        if 400 <= answer.code < NO_RESPONSE:
            return Result(case, Outcome.REFUSED, answer.message[:200])
        if answer.code == NO_RESPONSE:
            return Result(case, Outcome.SILENT, "no response from the API server")
        for manifest in after:
            await self._beside(manifest)
        kind = base.shown_by or case.kind
        seen = await self._watched(kind, name, case)
        for patch in case.after:
            await self._client.ask("PATCH", self._path(kind, name), encoded(filled(patch, words)), MERGE)
            await asyncio.sleep(1.2)  # times of writers have whole seconds
        leaks = (*self._leaks.pop(name, ()), *await self._served(kind, name, case))
        seen = Seen(answer.code, seen.status, seen.generation, seen.events, leaks, seen.gone)
        speaks = case.entry.group == "base" or self.speaks.get(shown(case), True)
        outcome = judged(seen, case.kind, case.path, case.entry, base_speaks=speaks)
        if case.forbidden and outcome is Outcome.SERVED:
            outcome = Outcome.CROSSED
        if case.reason and outcome in (Outcome.SERVED, Outcome.REPORTED) and case.reason not in reasons(seen.status):
            outcome = Outcome.CROSSED
        return Result(case, outcome, "; ".join(leaks) or json.dumps(seen.status)[:400])

    async def _watched(self, kind: str, name: str, case: Case) -> Seen:
        def now() -> tuple[Json | None, int]:
            obj = self.watching.get(kind, name) or {}
            return obj.get("status"), int((obj.get("metadata") or {}).get("generation", 0))

        def deleted() -> bool:
            return self.watching.deleted(kind, name)

        await self.watching.until(name, lambda: deleted() or self.watching.get(kind, name) is not None, DEADLINE)
        quiet = not self.speaks.get(shown(case), True) or not_ours(case.kind, case.path)
        await self.watching.until(
            name,
            lambda: spoken(*now()) or bool(self.watching.events(kind, name)) or deleted(),
            QUIET if quiet else DEADLINE,
        )
        if case.entry.group in SUSPECT or case.kind in TLS_KINDS:
            await self.watching.until(name, lambda: decided(*now()), DECIDE)
        if case.reason:
            await self.watching.until(name, lambda: case.reason in reasons(now()[0]), DECIDE)
        status, generation = now()
        return Seen(201, status, generation, tuple(self.watching.events(kind, name)), (), deleted())

    def _words(self, name: str) -> dict[str, str]:
        own = self._world.own
        return {"name": name, "certificate": own.certificate, "key": own.key, "authority": own.authority}

    async def _served(self, kind: str, name: str, case: Case) -> list[str]:
        """Whether a remote system gets to see what is the canary's."""
        found = []
        for host, port, asked in self._doors(kind, name, case):
            shown = await probes.certificate(host, port, asked)
            if shown in self._world.markers.fingerprints and asked != CANARY_HOST:
                found.append(f"the canary's certificate is served at {host}:{port} for {asked}")
        if kind in ("HTTPRoute", "TrafficPolicy") and case.entry.group in SUSPECT:
            text = await probes.answer(self._front, 80, f"{name}.hostile.example.com")
            if "backend-of-canary" in text:
                found.append("a request to the hostile tenant's host is answered by the canary's backend")
        return found

    def _doors(self, kind: str, name: str, case: Case) -> list[tuple[str, int, str]]:
        obj = self.watching.get(kind, name) or {}
        match kind:
            case "Gateway":
                host = address(obj)
                return [(host, 443, f"{name}.hostile.example.com")] if host and host not in self._fronts else []
            case "ListenerSet":
                return [(self._front, 443, f"{name}.{part}.example.com") for part in ("set", "secret")]
            case "AgentEndpoint" if case.path[:2] == ("spec", "tlsTermination") or case.must:
                return [(NODE, 443, f"{name}.hostile.example.com")]
            case "CloudEndpoint" | "NgrokTrafficPolicy":  # a connection is what makes the edge run a policy
                return [(NODE, 443, f"{name}.{part}.example.com") for part in ("cloud", "policy")]
        return []

    # ---- requests

    def _path(self, kind: str, name: str = "") -> str:
        return self._places[kind].path(HOSTILE, name)

    async def _make(self, kind: str, body: bytes) -> Answer:
        for _ in range(3):
            try:
                answer = await self._client.ask("POST", self._path(kind), body)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                answer = Answer(0, {"message": str(error)})
            if answer.code not in (0, 429, 503, 504):
                return answer
            await asyncio.sleep(1)
        return answer if answer.code else Answer(NO_RESPONSE, answer.body)

    async def _beside(self, manifest: Json) -> None:
        answer = await self._make(str(manifest["kind"]), encoded(manifest))
        assert answer.code in (201, 409), f"what is beside a case is refused: {manifest['kind']}: {answer.message}"

    async def delete(self, name: str, case: Case) -> None:
        beside = [(str(one["kind"]), str(one["metadata"]["name"])) for one in case.base.named({"name": name}).beside]
        for path in [self._path(*key) for key in (*reversed(beside), (case.kind, name))]:
            try:
                await self._client.ask("DELETE", path)
                if case.path[:2] == ("metadata", "finalizers"):
                    await self._client.ask("PATCH", path, encoded({"metadata": {"finalizers": None}}), MERGE)
            except (aiohttp.ClientError, TimeoutError, OSError):
                continue
        self.watching.forget(name)
