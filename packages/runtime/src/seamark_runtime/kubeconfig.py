"""Kubeconfig files, merged as kubectl merges them, and the cluster and user of one context.

- If several files (KUBECONFIG) define an entry of the same name, the first file wins; so does the first
  current-context.
- Relative paths are relative to the file that contains them.
- Anything missing or malformed is a `KubeconfigError` that names the field.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamark_runtime.untrusted.decoding import InvalidSyntax, Malformed, decode_yaml


class KubeconfigError(Exception):
    """What is wrong with a kubeconfig. The message contains no credentials."""


@dataclass(frozen=True)
class Entry:
    """A cluster, user or context: its fields, and the folder of the file that defines it."""

    what: str
    fields: Mapping[str, Any] = field(repr=False)
    folder: Path

    def text(self, key: str) -> str:
        value = self.fields.get(key)
        if value is not None and not isinstance(value, str):
            raise KubeconfigError(f"{self.what}: {key} must be a string")
        return value or ""

    def flag(self, key: str) -> bool:
        value = self.fields.get(key)
        if value is not None and not isinstance(value, bool):
            raise KubeconfigError(f"{self.what}: {key} must be true or false")
        return bool(value)

    def content(self, key: str) -> str:
        """Of `<key>-data` (base64), or of the file that `<key>` names."""
        data = self.text(f"{key}-data")
        if not data:
            return self.file(key)
        try:
            return base64.b64decode(data, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise KubeconfigError(f"{self.what}: {key}-data is not base64 of a text") from None

    def file(self, key: str) -> str:
        """The content of the file that the field names; empty if the field is not set."""
        name = self.text(key)
        if not name:
            return ""
        try:
            return (self.folder / Path(name).expanduser()).read_text()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not a text"
            raise KubeconfigError(f"{self.what}: {key} {name} can't be read ({reason})") from None


@dataclass(frozen=True)
class Kubeconfig:
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]
    contexts: Mapping[str, Entry]
    current_context: str

    def select(self, context: str = "") -> tuple[Entry, Entry]:
        """The cluster and the user of this context, or of the current one."""
        name = context or self.current_context
        if not name:
            raise KubeconfigError("it has no current-context")
        chosen = self.contexts.get(name)
        if chosen is None:
            raise KubeconfigError(f"there is no context {name}")
        cluster = _named(self.clusters, "cluster", chosen.text("cluster"))
        user = chosen.text("user")
        return cluster, _named(self.users, "user", user) if user else Entry("user", {}, Path())


def _named(entries: Mapping[str, Entry], what: str, name: str) -> Entry:
    try:
        return entries[name]
    except KeyError:
        raise KubeconfigError(f"there is no {what} {name or '(none is named)'}") from None


def read(paths: str) -> Kubeconfig:
    """Of one file, or of several with the separator of PATH between them."""
    clusters: dict[str, Entry] = {}
    users: dict[str, Entry] = {}
    contexts: dict[str, Entry] = {}
    current = ""
    for path in filter(None, paths.split(os.pathsep)):
        file = Path(path).expanduser()
        document = _document(file)
        for found, what in ((clusters, "cluster"), (users, "user"), (contexts, "context")):
            for name, fields in _entries(document, what):
                found.setdefault(name, Entry(f"{what} {name}", fields, file.parent))
        current = current or _text(document.get("current-context"))
    return Kubeconfig(clusters, users, contexts, current)


def _document(file: Path) -> Mapping[str, Any]:
    try:
        document = decode_yaml(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise KubeconfigError(f"it can't be read ({getattr(error, 'strerror', None) or 'not a text'})") from None
    except InvalidSyntax:
        raise KubeconfigError("it is not valid YAML") from None
    except Malformed as error:
        raise KubeconfigError(str(error)) from None
    if not isinstance(document, dict):
        raise KubeconfigError("it is not a mapping with clusters, users and contexts")
    return document


def _entries(document: Mapping[str, Any], what: str) -> list[tuple[str, Mapping[str, Any]]]:
    found = document.get(f"{what}s") or []
    if not isinstance(found, list):
        raise KubeconfigError(f"{what}s must be a list")
    entries: list[tuple[str, Mapping[str, Any]]] = []
    for entry in found:
        name, fields = (entry.get("name"), entry.get(what) or {}) if isinstance(entry, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(fields, dict):
            raise KubeconfigError(f"each of {what}s must have a name and a {what}")
        entries.append((name, fields))
    return entries


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
