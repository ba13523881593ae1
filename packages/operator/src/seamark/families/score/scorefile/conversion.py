"""A Score file, as developers write it → a Workload. Nothing is lost in silence: what it can't hold is an error.

- Ports, files and volumes are maps there and lists here; the deprecated lists are taken, too.
- A file's `source` is a path beside the Score file: what it holds becomes part of the Workload.
- What a command supplies is put in here: an image for a dot, overrides, values of the environment.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from seamark.api.score import GROUP, VERSION, Workload
from seamark.families.score.model.order import fault as order_fault
from seamark.families.score.orchestrator.placeholders import references
from seamark.families.score.scorefile.overrides import YAML, changed, merged
from seamark.families.score.scorefile.rules import Fault, a_map
from seamark.families.score.scorefile.specification import check, renewed
from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.decoding import Malformed, decode_all_yaml

API_VERSION = f"{GROUP}/{VERSION}"
KUBERNETES = ("name", "namespace", "annotations", "labels")  # of the metadata, what every object there has
ENVIRONMENT = "environment"  # the type of a resource whose outputs are supplied by the command
SUPPLIED = "."  # an image that the command supplies
STDIN = Path("-")

Json = dict[str, Any]


class ScoreFileError(UserError):
    """What is wrong with a Score file: which file, which field, and what to do."""


@dataclass(frozen=True)
class Supplied:
    """What a command gives beside a file. `overrides` is a document that is merged into it, `properties` are paths."""

    image: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    properties: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


NOTHING = Supplied()


def read(path: Path, supplied: Supplied = NOTHING) -> Json:
    """The manifest of the Workload that a file describes; `-` is the standard input."""
    try:
        text = sys.stdin.read() if path == STDIN else path.read_text()
    except OSError as error:
        raise ScoreFileError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScoreFileError(f"{path} is no text") from None
    return convert(text, path, supplied)


def read_overrides(path: Path) -> Json:
    try:
        return one_map(path.read_text(), path)
    except OSError as error:
        raise ScoreFileError(f"{path}: {error.strerror}") from None


def one_map(text: str, path: Path) -> Json:
    try:
        documents = [document for document in decode_all_yaml(text, YAML) if document is not None]
    except Malformed as error:
        raise ScoreFileError(f"{path}: {error}") from None
    if not documents:
        raise ScoreFileError(f"{path} is empty: it has 0 documents", hint="a Score file describes one workload")
    if len(documents) != 1:
        raise ScoreFileError(f"{path} has {len(documents)} documents", hint="a Score file describes one workload")
    try:
        return a_map(documents[0], "")
    except Fault as fault:
        raise ScoreFileError(f"{path}: {fault}") from None


def convert(text: str, path: Path, supplied: Supplied = NOTHING) -> Json:
    score = one_map(text, path)
    try:
        score = merged(score, dict(supplied.overrides))
        for override in supplied.properties:
            score = changed(score, override)
        check(score)
        return _Conversion(path.parent, supplied).workload(score)
    except Fault as fault:
        raise ScoreFileError(f"{path}: {fault}") from None


class _Conversion:
    """From one Score file that is valid; `folder` is where its sources are."""

    def __init__(self, folder: Path, supplied: Supplied) -> None:
        self._folder = folder
        self._supplied = supplied

    def workload(self, score: Json) -> Json:
        metadata, extra = self._metadata(score["metadata"])
        spec: Json = {"containers": self._each(score["containers"], "containers", self._container)}
        spec |= {"metadata": extra} if extra else {}
        if service := score.get("service", {}):
            ports = service.get("ports", {})
            _check_ports(ports)
            spec["service"] = {"ports": [{"name": name, **port} for name, port in ports.items()]}
        if "resources" in score:
            spec["resources"] = self._each(score["resources"], "resources", self._resource)
        self._supply_environment(spec)
        manifest = {"apiVersion": API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}
        try:
            workload = msgspec.convert(manifest, Workload)
        except msgspec.ValidationError as error:
            message, _, where = str(error).partition(" - at `$.")
            raise Fault(f"{where.rstrip('`').removeprefix('spec.')}: {message}") from None
        if wrong := order_fault(workload.spec.containers):
            raise Fault(wrong)
        return manifest

    def _metadata(self, metadata: Json) -> tuple[Json, Json]:
        """What Kubernetes has, too, and the other keys: they are free, and placeholders can name them."""
        extra = {name: each for name, each in metadata.items() if name not in KUBERNETES}
        return {name: each for name, each in metadata.items() if name in KUBERNETES}, extra

    def _container(self, value: Json, where: str) -> Json:
        found = dict(value)
        if value["image"] == SUPPLIED:
            if not self._supplied.image:
                raise Fault(f"{where}.image: '.' is supplied when the file is applied; name the image with --image")
            found["image"] = self._supplied.image
        for name, entry in (("files", self._file), ("volumes", self._volume)):
            if name in value:
                found[name] = self._entries(value[name], f"{where}.{name}", entry)
        if "resources" in value:
            found["resources"] = _compute(value["resources"])
        for name in ("livenessProbe", "readinessProbe"):
            if name in value:
                found[name] = _probe(value[name])
        return found

    def _supply_environment(self, spec: Json) -> None:
        """Values of the environment become parameters of the resources of that type, where a placeholder names them."""
        resources = spec.get("resources", {})
        wanted = {key: resource for key, resource in resources.items() if resource["type"] == ENVIRONMENT}
        for reference in references([spec["containers"], resources]) if wanted else ():
            match reference.path:
                case ("resources", key, *names) if key in wanted and names:
                    name = ".".join(names)
                    params = wanted[key].setdefault("params", {})
                    if name not in params and name not in self._supplied.environment:
                        raise Fault(f"resources.{key}: {reference} needs the environment variable {name}; set it")
                    params.setdefault(name, self._supplied.environment.get(name))

    def _entries(self, value: Any, where: str, convert: Callable[[Json, str], Json]) -> list[Json]:
        """A map by target, or the deprecated list."""
        if isinstance(value, list):
            places = [(f"{where}[{number}]", item) for number, item in enumerate(value)]
            return [convert(renewed(item, place), place) for place, item in places]
        return [convert({"target": target, **item}, f"{where}.{target}") for target, item in value.items()]

    def _file(self, value: Json, where: str) -> Json:
        found = dict(value)
        if "source" in found:
            found |= self._source(str(found.pop("source")), where)
        return found

    def _source(self, source: str, where: str) -> Json:
        try:
            content = (self._folder / source).read_bytes()
        except OSError as error:
            raise Fault(f"{where}.source: {source}: {error.strerror}") from None
        try:
            return {"content": content.decode()}
        except UnicodeDecodeError:
            return {"binaryContent": base64.b64encode(content).decode()}

    def _volume(self, value: Json, _where: str) -> Json:
        return value

    def _resource(self, value: Json, _where: str) -> Json:
        metadata = value.get("metadata")
        if metadata is None:
            return dict(value)
        extra = {name: each for name, each in metadata.items() if name != "annotations"}
        own = {name: each for name, each in metadata.items() if name == "annotations"}
        return value | {"metadata": own | ({"extra": extra} if extra else {})}

    def _each(self, value: Json, where: str, convert: Callable[[Json, str], Json]) -> Json:
        return {name: convert(item, f"{where}.{name}") for name, item in value.items()}


def _probe(value: Json) -> Json:
    if "httpGet" not in value:
        return value
    get = value["httpGet"]
    headers = {"headers": get["httpHeaders"]} if "httpHeaders" in get else {}
    return value | {"httpGet": {name: field for name, field in get.items() if name != "httpHeaders"} | headers}


def _compute(value: Json) -> Json:
    """The Score schema writes kilobytes with a capital letter, Kubernetes with a small one."""
    return {kind: {what: _kilobytes(amount) for what, amount in amounts.items()} for kind, amounts in value.items()}


def _kilobytes(amount: Any) -> Any:
    number = amount.removesuffix("K") if isinstance(amount, str) else ""
    return f"{number}k" if number and number != amount and number[-1:].isdigit() else amount


def _check_ports(ports: Json) -> None:
    """A Service can't have two ports of one number and protocol."""
    found: dict[tuple[str, str], str] = {}
    for name, port in ports.items():
        number = (repr(port.get("port")), str(port.get("protocol", "TCP")))
        if (other := found.setdefault(number, name)) != name:
            raise Fault(f"service.ports.{name}: it has the number {number[0]} and the protocol of {other}")
