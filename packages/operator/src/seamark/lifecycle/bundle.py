"""A support bundle: what support needs to see, and no secrets.

- Objects of our kinds with their status, events about them, and of our own namespace the Pods, their settings and
  their logs. Read with the rights of the user; what they may not read is named, and the rest is collected.
- Secrets are not read at all. Values that users give to their programs are left out, whatever they are called; so is
  everything under a name that sounds secret, and everything in a text that looks like a secret.
- The newest of everything counts: there is a bound to each list and each log.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

import seamark
from seamark.explain import kinds
from seamark.lifecycle.definitions import DEFINITION
from seamark_runtime.api.meta import Resource
from seamark_runtime.client import OBJECT, Page, explain, page_of
from seamark_runtime.redaction import HIDDEN, SECRET_NAMES, is_secret_flag, redact
from seamark_runtime.transport import HttpRequest, NoAnswerError, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_json
from seamark_runtime.untrusted.names import ApiPath, api_path

MOST_OBJECTS = 1000  # of a kind
LOG_LINES = 2000
EVENT = Resource("events.k8s.io", "v1", "Event", "events")
LEASE = Resource("coordination.k8s.io", "v1", "Lease", "leases")
HERE = (kinds.POD, kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.SERVICE, LEASE)
# Under these names are values of users, any of which may be a secret.
THEIRS = frozenset(("variables", "values", "params", "outputs", "data", "stringData", "binaryData", "content"))
REFERS = ("Name", "name", "Ref", "Refs", "ref")  # about a Secret, and not its content: secretName, secretKeyRef
LEFT_OUT = ("managedFields", "kubectl.kubernetes.io/last-applied-configuration")

Json = dict[str, Any]


class Bundle:
    """Files by their names. `collect` fills them, as far as it gets."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self._transport = transport
        self._namespace = namespace
        self.files: dict[str, str] = {}
        self.problems: list[str] = []

    async def collect(self) -> None:
        about = {"seamark": seamark.__version__, "python": platform.python_version(), "system": platform.platform()}
        about["kubernetes"] = (await self._version()).get("gitVersion", "unknown")
        self._write("versions.yaml", about)
        await asyncio.gather(*(self._objects(kind) for kind in kinds.OURS))
        pods, *_ = await asyncio.gather(*(self._objects(kind, self._namespace) for kind in HERE))
        await self._definitions()
        await self._events()
        await asyncio.gather(*(self._logs(pod) for pod in pods))
        if self.problems:
            self.files["not-read.txt"] = "\n".join(sorted(self.problems)) + "\n"

    async def _objects(self, kind: Resource, namespace: str = "") -> list[Json]:
        found = await self._list(kind, namespace)
        if found:
            folder = "installation" if namespace else "objects"
            self._write(f"{folder}/{kind}.yaml", [cleaned(obj) for obj in found])
        return found

    async def _definitions(self) -> None:
        """Which versions of our kinds the cluster serves, and who wrote them."""
        crds = await self._list(DEFINITION)
        ours = {f"{kind.plural}.{kind.group}" for kind in kinds.OURS}
        found = {
            crd["metadata"]["name"]: {
                "versions": [version["name"] for version in crd["spec"]["versions"] if version["served"]],
                "annotations": cleaned(crd["metadata"].get("annotations") or {}),
            }
            for crd in crds
            if crd["metadata"]["name"] in ours
        }
        self._write("definitions.yaml", found)

    async def _events(self) -> None:
        ours = {kind.kind for kind in kinds.OURS}
        found = [
            event
            for event in await self._list(EVENT)
            if event["metadata"]["namespace"] == self._namespace
            or (event.get("regarding") or {}).get("kind") in ours
            or (event.get("reportingController") or "").startswith("seamark")
        ]
        if found:
            self._write("events.yaml", [cleaned(event) for event in found])

    async def _logs(self, pod: Json) -> None:
        name = pod["metadata"]["name"]
        for container in pod["spec"]["containers"]:
            for previous in (False, True):
                which = "previous" if previous else "current"
                query = {"container": container["name"], "tailLines": str(LOG_LINES)}
                query |= {"previous": "true"} if previous else {}
                path = kinds.POD.path(self._namespace, name, "log")
                body = await self._body(path, query, quiet=previous)
                if body:
                    text = body.decode(errors="replace")
                    self.files[f"logs/{name}/{container['name']}-{which}.log"] = redact(text)

    def _write(self, name: str, content: object) -> None:
        self.files[name] = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)

    async def _list(self, kind: Resource, namespace: str = "") -> list[Json]:
        """Without those that can't be read, which are counted among the problems."""
        body = await self._body(kind.path(namespace), {"limit": str(MOST_OBJECTS)})
        try:
            page = page_of(body) if body else Page((), "", "")
        except Malformed as error:
            self.problems.append(f"{kind}: {error}")
            return []
        if page.next_page:
            self.problems.append(f"{kind}: only the first {MOST_OBJECTS} are here")
        return [found for raw in page.items if (found := self._decoded(f"one of {kind}", bytes(raw)))]

    async def _version(self) -> Json:
        path = api_path("/version")
        body = await self._body(path, {})
        return self._decoded(path, body) if body else {}

    def _decoded(self, what: str, body: bytes) -> Json:
        try:
            return decode_json(body, Json, OBJECT)
        except Malformed as error:
            self.problems.append(f"{what}: {error}")
            return {}

    async def _body(self, path: ApiPath, query: Mapping[str, str], *, quiet: bool = False) -> bytes:
        try:
            answer = await self._transport.send(HttpRequest("GET", path, query, accept="application/json, */*"))
        except NoAnswerError as error:
            self.problems.append(f"{path}: {error}")
            return b""
        if answer.status != 200:
            if answer.status != 404 and not quiet:
                self.problems.append(redact(f"{path}: {explain(answer).message}"))
            return b""
        return answer.body


def cleaned(value: Any, name: str = "", *, secret: bool = False) -> Any:
    """The same without secrets, and without what only programs read. What is below a secret name is secret, too."""
    secret = secret or (SECRET_NAMES.search(name) is not None and not name.endswith(REFERS))
    if name in THEIRS and value is not None:
        return HIDDEN
    if isinstance(value, dict):
        if "name" in value and isinstance(value.get("value"), str):  # a variable of a container, a header
            value = {**value, "value": variable(str(value["name"]), value["value"])}
        return {key: cleaned(inner, str(key), secret=secret) for key, inner in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        pairs = zip(["", *value], value, strict=False)
        return [cleaned(inner, name, secret=secret or _follows(inner, before)) for before, inner in pairs]
    if isinstance(value, str):
        return HIDDEN if secret and value else redact(value)
    return value


def _follows(argument: Any, flag: Any) -> bool:
    """Whether it is the value of the flag before it in the arguments of a command, as X in `--password X`."""
    return isinstance(flag, str) and is_secret_flag(flag) and not str(argument).startswith("-")


def variable(name: str, value: str) -> str:
    """Ours are shown unless they sound secret; others' are not."""
    ours = name.startswith("SEAMARK_") and (name.endswith("_FILE") or not SECRET_NAMES.search(name))
    return value if ours else HIDDEN


def shown(files: Iterable[str]) -> str:
    return ", ".join(sorted({name.partition("/")[0] for name in files}))
