"""score.dev/v1b1 as rules: which fields there are, which are needed, and what their values may be."""

from __future__ import annotations

from typing import Any

from seamark.families.score.scorefile.rules import (
    Fault,
    a_map,
    anything,
    each,
    fields,
    filled,
    flag,
    like,
    listed,
    number,
    one_of,
    shown,
    text,
    within,
)
from seamark_runtime.untrusted.patterns import Pattern

API_VERSION = "score.dev/v1b1"
LABEL = Pattern(r"[a-z0-9][-a-z0-9]*[a-z0-9]")
WORD = Pattern(r"[A-Za-z0-9][-A-Za-z0-9]*[A-Za-z0-9]")
ID_FORM = Pattern(r"[a-z0-9]+(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)*")
ANNOTATION_FORM = Pattern(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?"
)
CPU_FORM = Pattern(r"\d+(m|\.\d+)?")
MEMORY_FORM = Pattern(r"(0\.\d+|[1-9]\d*(\.\d+)?)(K|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
MODE_FORM = Pattern(r"0?[0-7]{3}")
BASE64_FORM = Pattern(r"[A-Za-z0-9+/]*={0,2}")
IMAGE_FORM = Pattern(r"\.|[A-Za-z0-9][\w.:/@+-]*")
VARIABLE_FORM = Pattern(r"[^=]+")

NAME = like(LABEL, "2 to 63 small letters, digits and dashes, with no dash at its ends", 63)
TYPE = like(WORD, "2 to 63 letters, digits and dashes, with no dash at its ends", 63)
ID = like(
    ID_FORM,
    "small letters, digits, dashes and dots, with no dash or dot at its ends",
    63,
)
ANNOTATION = like(
    ANNOTATION_FORM,
    "a name of letters, digits, '-', '_' and '.', behind a domain and '/' if there is one",
)
CPU = like(CPU_FORM, "an amount like 500m, 1 or 0.5, in quotes", 32)
MEMORY = like(
    MEMORY_FORM,
    "an amount like 128Mi, 64K or 1.5G, in quotes",
    32,
)
MODE = like(MODE_FORM, 'an octal number in quotes, like "0644"', 4)
BASE64 = like(BASE64_FORM, "base64", 3_000_000)
IMAGE = like(
    IMAGE_FORM,
    "the name of an image, without blanks and placeholders, or '.' and --image",
    1024,
)
VARIABLE = like(VARIABLE_FORM, "a name without '='", 1024)
PORT = number(1, 65535)

ANNOTATIONS = each(text, ANNOTATION)
METADATA = fields({"name": NAME, "annotations": ANNOTATIONS, "labels": each(text)}, "name", others=anything)
SERVICE = fields(
    {"ports": each(fields({"port": PORT, "protocol": one_of("TCP", "UDP"), "targetPort": PORT}, "port"), NAME)}
)
AMOUNTS = fields({"cpu": CPU, "memory": MEMORY})
HEADER = fields({"name": filled, "value": filled}, "name", "value")
HTTP_GET = fields(
    {
        "host": text,
        "scheme": one_of("HTTP", "HTTPS"),
        "path": text,
        "port": PORT,
        "httpHeaders": listed(HEADER),
    },
    "port",
)
PROBE = fields({"httpGet": HTTP_GET, "exec": fields({"command": listed(text)}, "command")})
BEFORE = fields({"ready": one_of("started", "healthy", "complete")}, "ready")
RESOURCE = fields(
    {
        "type": TYPE,
        "class": TYPE,
        "id": ID,
        "metadata": fields({"annotations": ANNOTATIONS}, others=anything),
        "params": each(anything),
    },
    "type",
)
SOURCES = ("source", "content", "binaryContent")
FILE = fields(
    {"mode": MODE, "noExpand": flag, "source": filled, "content": text, "binaryContent": BASE64, "target": filled}
)
VOLUME = fields({"source": filled, "path": text, "readOnly": flag, "target": filled}, "source")


def a_file(value: Any, where: str) -> None:
    FILE(value, where)
    if sum(name in value for name in SOURCES) != 1:
        raise Fault(f"{where}: exactly one of source, content and binaryContent must be set")


def a_probe(value: Any, where: str) -> None:
    PROBE(value, where)
    if not value:
        raise Fault(f"{where}: at least one of httpGet and exec must be set")


def by_target(rule: Any) -> Any:
    """A map by target, or the deprecated list, whose elements have it and may have forms that are deprecated, too."""

    def check(value: Any, where: str) -> None:
        if isinstance(value, list):
            for place, entry in enumerate(value):
                rule(renewed(a_map(entry, within(where, place)), within(where, place)), within(where, place))
            return
        for target, entry in a_map(value, where).items():
            if "target" in a_map(entry, within(where, target)):
                raise Fault(f"{within(where, target)}.target: in a map the target is the key")
            rule(entry, within(where, target))

    return check


CONTAINER = fields(
    {
        "image": IMAGE,
        "command": listed(text),
        "args": listed(text),
        "variables": each(text, VARIABLE),
        "files": by_target(a_file),
        "volumes": by_target(VOLUME),
        "resources": fields({"limits": AMOUNTS, "requests": AMOUNTS}),
        "livenessProbe": a_probe,
        "readinessProbe": a_probe,
        "before": each(BEFORE),
    },
    "image",
)
ROOT = fields(
    {
        "apiVersion": anything,
        "metadata": METADATA,
        "containers": each(CONTAINER, NAME, least=1),
        "service": SERVICE,
        "resources": each(RESOURCE, NAME),
    },
    "metadata",
    "containers",
)


def check(score: dict[str, Any]) -> None:
    """Raises Fault where a document is no Score file."""
    if "kind" in score:
        raise Fault("kind: a Score file has none; a manifest of a Workload goes to `kubectl apply`")
    if (version := score.get("apiVersion")) != API_VERSION:
        raise Fault(f"apiVersion: it is {shown(version)}, and must be {API_VERSION}")
    ROOT(score, "")


def renewed(item: dict[str, Any], where: str) -> dict[str, Any]:
    """An element of a deprecated list, which may have deprecated forms itself: lines for a content, read_only."""
    if "target" not in item:
        raise Fault(f"{where}.target: an element of a list needs one")
    found = {"readOnly" if name == "read_only" else name: value for name, value in item.items()}
    if isinstance(found.get("content"), list):
        listed(text)(found["content"], f"{where}.content")
        found["content"] = "\n".join(found["content"])
    return found
