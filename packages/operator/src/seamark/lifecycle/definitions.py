"""CustomResourceDefinitions on a cluster that may have some already.

- Ours carry the version that wrote them. One of a newer version stays, and so does a foreign one.
- What stays has to serve the version that we speak. If one does not, nothing at all is changed, and it is named.
- Definitions are never deleted: all objects of the kind would be deleted with them.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

import seamark
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.meta import Resource
from seamark_runtime.client import APPLY_PATCH, OBJECT, explain
from seamark_runtime.errors import UserError
from seamark_runtime.rbac import Grant
from seamark_runtime.transport import Answer, HttpRequest, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_json
from seamark_runtime.untrusted.numbers import version_numbers

VERSION = "seamark.dev/version"
MANAGER = "seamark-install"
DEFINITION = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
SERVED_TIMEOUT = 30.0  # seconds from a definition's writing to its kind being served

Json = dict[str, Any]


class Step(enum.Enum):
    CREATE = "created"
    UPDATE = "updated"
    KEEP = "kept"
    REFUSE = "refused"


@dataclass(frozen=True)
class Decision:
    """What becomes of one definition, and in words why."""

    name: str
    step: Step
    wanted: Json
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.step.value}" + (f", {self.reason}" if self.reason else "")


def marked(crds: Iterable[CRD]) -> list[Json]:
    """The manifests of these, with the version that made them."""
    found = [crd.manifest() for crd in crds]
    for manifest in found:
        manifest["metadata"].setdefault("annotations", {})[VERSION] = seamark.__version__
    return found


def grants(crds: Iterable[CRD]) -> set[Grant]:
    """What installing takes: reading all, creating what is missing, changing these and no others."""
    changing = {Grant(DEFINITION.group, DEFINITION.plural, "patch", name=crd.name) for crd in crds}
    return changing | {Grant(DEFINITION.group, DEFINITION.plural, verb) for verb in ("create", "get")}


def decide(wanted: Json, installed: Json | None) -> Decision:
    name = wanted["metadata"]["name"]
    if installed is None:
        return Decision(name, Step.CREATE, wanted)
    needed = {version["name"] for version in wanted["spec"]["versions"] if version["storage"]}
    serves = {version["name"] for version in installed["spec"]["versions"] if version["served"]}
    ours = VERSION in wanted["metadata"].get("annotations", {})
    written = (installed["metadata"].get("annotations") or {}).get(VERSION, "")
    if ours and written and version_numbers(written) <= version_numbers(seamark.__version__):
        return Decision(name, Step.UPDATE, wanted)
    whose = f"it is of the newer version {written}" if written else "it is not Seamark's"
    if needed <= serves:
        return Decision(name, Step.KEEP, wanted, whose)
    lacks = f"{whose}, and serves {', '.join(sorted(serves)) or 'nothing'} but not {', '.join(sorted(needed))}"
    return Decision(name, Step.REFUSE, wanted, lacks)


async def install(transport: Transport, wanted: Sequence[Json]) -> list[Decision]:
    """Looks at all of them before the first is written; returns when what was written is served."""
    installed = await asyncio.gather(*(_installed(transport, decision["metadata"]["name"]) for decision in wanted))
    decisions = [decide(*pair) for pair in zip(wanted, installed, strict=True)]
    refused = [str(decision).replace("refused, ", "") for decision in decisions if decision.step is Step.REFUSE]
    if refused:
        hint = "upgrade or remove that definition, or install without the family that needs it"
        raise UserError(f"nothing was installed. {'; '.join(refused)}", hint=hint)
    written = [decision for decision in decisions if decision.step in (Step.CREATE, Step.UPDATE)]
    await asyncio.gather(*(_write(transport, decision) for decision in written))
    async with asyncio.timeout(SERVED_TIMEOUT):
        for decision in written:
            while not _established(await _installed(transport, decision.name)):  # noqa: ASYNC110  others make it so
                await asyncio.sleep(0.05)
    return decisions


async def _installed(transport: Transport, name: str) -> Json | None:
    answer = await transport.send(HttpRequest("GET", DEFINITION.path(name=name)))
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise _refusal(name, answer)
    return definition_of(name, answer)


def definition_of(name: str, answer: Answer) -> Json:
    try:
        return decode_json(answer.body, Json, OBJECT)
    except Malformed as error:
        raise UserError(f"{name}: the API server's answer can't be read: {error}") from None


async def _write(transport: Transport, decision: Decision) -> None:
    """A missing one is created, and never applied: another writer may have been quicker."""
    body, query = msgspec.json.encode(decision.wanted), {"fieldManager": MANAGER}
    request = HttpRequest("POST", DEFINITION.path(), query, body)
    if decision.step is Step.UPDATE:
        request = HttpRequest(
            "PATCH", DEFINITION.path(name=decision.name), {**query, "force": "true"}, body, APPLY_PATCH
        )
    answer = await transport.send(request)
    if answer.status >= 300:
        raise _refusal(decision.name, answer)


def _refusal(name: str, answer: Answer) -> UserError:
    hint = "give the account that installs this right, or install with one that has it" if answer.status == 403 else ""
    return UserError(f"{name}: {explain(answer).message}", hint=hint)


def _established(installed: Json | None) -> bool:
    conditions = ((installed or {}).get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)
