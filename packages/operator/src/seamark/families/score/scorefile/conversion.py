"""A Score file, as developers write it → a Workload. Nothing is lost in silence: what it can't hold is an error.

- Ports, files and volumes are maps there and lists here; the deprecated lists are taken, too.
- A file's `source` is a path beside the Score file: what it holds becomes part of the Workload.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from seamark.api.score import GROUP, VERSION, Workload
from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.decoding import Malformed, decode_all_yaml

API_VERSION = f"{GROUP}/{VERSION}"
CONTAINER = (
    *("image", "command", "args", "variables", "files", "volumes"),
    *("resources", "livenessProbe", "readinessProbe"),
)
KUBERNETES = ("name", "namespace", "annotations", "labels")  # of the metadata, what every object there has
FILE = ("target", "mode", "source", "content", "binaryContent", "noExpand")
VOLUME = ("target", "source", "path", "readOnly")

Json = dict[str, Any]


class ScoreFileError(UserError):
    """What is wrong with a Score file: which file, which field, and what to do."""


def read(path: Path) -> Json:
    """The manifest of the Workload that a file describes."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ScoreFileError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScoreFileError(f"{path} is no text") from None
    return convert(text, path)


def convert(text: str, path: Path) -> Json:
    try:
        documents = [document for document in decode_all_yaml(text) if document is not None]
    except Malformed as error:
        raise ScoreFileError(f"{path}: {error}") from None
    if len(documents) != 1:
        raise ScoreFileError(f"{path} has {len(documents)} documents", hint="a Score file describes one workload")
    try:
        return _Conversion(path.parent).workload(_map(documents[0], "the file"))
    except _Fault as fault:
        raise ScoreFileError(f"{path}: {fault}") from None


class _Fault(ValueError):
    """A field and what is wrong with it."""


class _Conversion:
    """From one Score file; `folder` is where its sources are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def workload(self, score: Json) -> Json:
        if "kind" in score:
            raise _Fault("kind: a Score file has none; a manifest of a Workload goes to `kubectl apply`")
        _only(score, ("apiVersion", "metadata", "containers", "service", "resources"), "")
        if score.get("apiVersion") != API_VERSION:
            raise _Fault(f"apiVersion: it is {score.get('apiVersion')!r}, and must be {API_VERSION}")
        metadata, extra = self._metadata(score.get("metadata"))
        spec: Json = {"containers": self._each(score.get("containers"), "containers", self._container)}
        spec |= {"metadata": extra} if extra else {}
        if service := _map(score.get("service", {}), "service"):
            _only(service, ("ports",), "service")
            ports = self._each(service.get("ports"), "service.ports", self._port)
            _check_ports(ports)
            spec["service"] = {"ports": [{"name": name, **port} for name, port in ports.items()]}
        if "resources" in score:
            spec["resources"] = self._each(score["resources"], "resources", self._resource)
        manifest = {
            "apiVersion": API_VERSION,
            "kind": "Workload",
            "metadata": metadata,
            "spec": spec,
        }
        try:
            msgspec.convert(manifest, Workload)
        except msgspec.ValidationError as error:
            message, _, where = str(error).partition(" - at `$.")
            raise _Fault(f"{where.rstrip('`').removeprefix('spec.')}: {message}") from None
        return manifest

    def _metadata(self, value: Any) -> tuple[Json, Json]:
        """What Kubernetes has, too, and the other keys: they are free, and placeholders can name them."""
        metadata = _map(value, "metadata")
        if not isinstance(metadata.get("name"), str):
            raise _Fault("metadata.name: a workload needs a name")
        _check_texts(metadata.get("annotations", {}), "metadata.annotations")
        _check_texts(metadata.get("labels", {}), "metadata.labels")
        extra = {name: each for name, each in metadata.items() if name not in KUBERNETES}
        return {name: each for name, each in metadata.items() if name in KUBERNETES}, extra

    def _container(self, value: Json, where: str) -> Json:
        if "before" in value:
            raise _Fault(f"{where}.before: an order of containers can't be kept; leave it out, or use one container")
        _only(value, CONTAINER, where)
        if value.get("image") == ".":
            raise _Fault(f"{where}.image: '.' requests a build; name the image that was built")
        found = dict(value)
        for name, entry in (("files", self._file), ("volumes", self._volume)):
            if name in value:
                found[name] = self._entries(value[name], f"{where}.{name}", entry)
        if "resources" in value:
            found["resources"] = _compute(_map(value["resources"], f"{where}.resources"), f"{where}.resources")
        for name in ("livenessProbe", "readinessProbe"):
            if name in value:
                found[name] = self._probe(_map(value[name], f"{where}.{name}"), f"{where}.{name}")
        for name, text in _map(value.get("variables", {}), f"{where}.variables").items():
            if not isinstance(text, str):
                raise _Fault(f"{where}.variables.{name}: {text!r} is no text; put it in quotes")
        return found

    def _entries(self, value: Any, where: str, convert: Callable[[Json, str], Json]) -> list[Json]:
        """A map by target, or the deprecated list."""
        if isinstance(value, list):
            places = [(f"{where}[{number}]", item) for number, item in enumerate(value)]
            return [convert(_renewed(_map(item, place), place), place) for place, item in places]
        entries = []
        for target, item in _map(value, where).items():
            entry = _map(item, f"{where}.{target}")
            if "target" in entry:
                raise _Fault(f"{where}.{target}.target: in a map the target is the key")
            entries.append(convert({"target": target, **entry}, f"{where}.{target}"))
        return entries

    def _file(self, value: Json, where: str) -> Json:
        _only(value, FILE, where)
        if sum(name in value for name in ("source", "content", "binaryContent")) != 1:
            raise _Fault(f"{where}: exactly one of source, content and binaryContent must be set")
        found = dict(value)
        if "source" in found:
            found |= self._source(str(found.pop("source")), where)
        return found

    def _source(self, source: str, where: str) -> Json:
        try:
            content = (self._folder / source).read_bytes()
        except OSError as error:
            raise _Fault(f"{where}.source: {source}: {error.strerror}") from None
        try:
            return {"content": content.decode()}
        except UnicodeDecodeError:
            return {"binaryContent": base64.b64encode(content).decode()}

    def _volume(self, value: Json, where: str) -> Json:
        _only(value, VOLUME, where)
        return value

    def _probe(self, value: Json, where: str) -> Json:
        _only(value, ("httpGet", "exec"), where)
        if not value:
            raise _Fault(f"{where}: at least one of httpGet and exec must be set")
        if "httpGet" not in value:
            return value
        get = _map(value["httpGet"], f"{where}.httpGet")
        _only(get, ("host", "scheme", "path", "port", "httpHeaders"), f"{where}.httpGet")
        headers = {"headers": get["httpHeaders"]} if "httpHeaders" in get else {}
        return value | {"httpGet": {name: field for name, field in get.items() if name != "httpHeaders"} | headers}

    def _port(self, value: Json, where: str) -> Json:
        _only(value, ("port", "protocol", "targetPort"), where)
        return value

    def _resource(self, value: Json, where: str) -> Json:
        _only(value, ("type", "class", "id", "metadata", "params"), where)
        if "metadata" not in value:
            return value
        metadata = _map(value["metadata"], f"{where}.metadata")
        _check_texts(metadata.get("annotations", {}), f"{where}.metadata.annotations")
        extra = {name: each for name, each in metadata.items() if name != "annotations"}
        own = {name: each for name, each in metadata.items() if name == "annotations"}
        return value | {"metadata": own | ({"extra": extra} if extra else {})}

    def _each(self, value: Any, where: str, convert: Callable[[Json, str], Json]) -> Json:
        return {
            name: convert(_map(item, f"{where}.{name}"), f"{where}.{name}") for name, item in _map(value, where).items()
        }


def _map(value: Any, where: str) -> Json:
    if not isinstance(value, dict):
        raise _Fault(f"{where}: it must be a map, and is {'missing' if value is None else repr(value)}")
    for name in value:
        if not isinstance(name, str):
            raise _Fault(f"{where}: the key {name!r} is no text; put it in quotes")
    return value


def _compute(value: Json, where: str) -> Json:
    """The Score schema writes kilobytes with a capital letter, Kubernetes with a small one."""
    _only(value, ("limits", "requests"), where)
    found = {}
    for kind, amounts in value.items():
        _only(_map(amounts, f"{where}.{kind}"), ("cpu", "memory"), f"{where}.{kind}")
        found[kind] = {what: _kilobytes(amount) for what, amount in amounts.items()}
    return found


def _kilobytes(amount: Any) -> Any:
    number = amount.removesuffix("K") if isinstance(amount, str) else ""
    return f"{number}k" if number and number != amount and number[-1:].isdigit() else amount


def _check_ports(ports: Json) -> None:
    """A Service can't have two ports of one number and protocol."""
    found: dict[tuple[str, str], str] = {}
    for name, port in ports.items():
        number = (repr(port.get("port")), str(port.get("protocol", "TCP")))
        if (other := found.setdefault(number, name)) != name:
            raise _Fault(f"service.ports.{name}: it has the number {number[0]} and the protocol of {other}")


def _renewed(item: Json, where: str) -> Json:
    """An element of a deprecated list, which may have deprecated forms itself: lines for a content, read_only."""
    if "target" not in item:
        raise _Fault(f"{where}.target: an element of a list needs one")
    found = {"readOnly" if name == "read_only" else name: each for name, each in item.items()}
    if isinstance(found.get("content"), list):
        found["content"] = _lines(found["content"], f"{where}.content")
    return found


def _lines(content: list[Any], where: str) -> str:
    for number, line in enumerate(content):
        if not isinstance(line, str):
            raise _Fault(f"{where}[{number}]: {line!r} is no text; put it in quotes")
    return "\n".join(content)


def _check_texts(value: Any, where: str) -> None:
    for name, text in _map(value, where).items():
        if not isinstance(text, str):
            raise _Fault(f"{where}.{name}: {text!r} is no text; put it in quotes")


def _only(value: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in value:
        if name not in known:
            place = f"{where}.{name}" if where else name
            raise _Fault(f"{place}: unknown field; the known ones are {', '.join(known)}")
