"""Score files as score-go reads them: scalars of YAML 1.2, duplicate keys are errors, overrides come first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]

WORDS = {
    "tag:yaml.org,2002:bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "tag:yaml.org,2002:null": (r"~|null|Null|NULL|", "~nN\0"),
    "tag:yaml.org,2002:int": (r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)", "-+0123456789"),
    "tag:yaml.org,2002:float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    "tag:yaml.org,2002:timestamp": (r"\d{4}-\d\d-\d\d([Tt ].*)?", "0123456789"),
}


class Loader(yaml.CSafeLoader):
    """PyYAML without `yes`, `on`, numbers to base 60 and duplicates without an error."""


Loader.yaml_implicit_resolvers = {}
for _tag, (_pattern, _first) in WORDS.items():
    Loader.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern})$"), [c if c != "\0" else "" for c in _first])
Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^(?:<<)$"), ["<"])


def _mapping(loader: Loader, node: yaml.MappingNode) -> Document:
    names = [key.value for key, _value in node.value]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise yaml.constructor.ConstructorError(None, None, f"duplicate keys {sorted(repeated)}", node.start_mark)
    loader.flatten_mapping(node)
    return {str(key): value for key, value in loader.construct_mapping(node, deep=True).items()}


Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read(path: Path) -> Document:
    """The document of a valid file."""
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)
    if not isinstance(document, dict):
        raise TypeError(f"{path} is no map")
    return document


def merged(document: Document, overrides: Document) -> Document:
    """Maps are merged, null removes, everything else replaces."""
    result = dict(document)
    for key, value in overrides.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def changed(document: Any, override: str) -> Any:
    """One override of the command line: `path=value`; no value removes, `\\.` is a dot in a key, -1 appends."""
    path, _, text = override.partition("=")
    steps = [step.replace("\0", ".") for step in path.replace("\\.", "\0").split(".")]
    return _changed(document, steps, yaml.load(text, Loader=Loader) if text else None)


def _changed(node: Any, steps: list[str], value: Any) -> Any:
    step, rest = steps[0], steps[1:]
    if isinstance(node, list):
        place = int(step)
        if place == -1:
            return [*node, value]
        new = _changed(node[place], rest, value) if rest else value
        return [*node[:place], *([] if new is None else [new]), *node[place + 1 :]]
    new = _changed(node.get(step, {}), rest, value) if rest else value
    return {key: old for key, old in node.items() if key != step} | ({} if new is None else {step: new})
