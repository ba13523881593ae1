"""The users of a control plane, and their kubeconfigs."""

from __future__ import annotations

import base64
import dataclasses
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from seamark_runtime.connection import OPERATOR

MASTERS = "system:masters"


def _token() -> str:
    return secrets.token_hex(16)


@dataclasses.dataclass(frozen=True)
class User:
    """A user that the API server authenticates by a token. Without a role binding they may do nothing."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = dataclasses.field(default_factory=_token, repr=False)


def token_file(users: Iterable[User]) -> str:
    """The API server's token file: token, name, uid, groups."""
    return "".join(f'{user.token},{user.name},{user.name},"{",".join(user.groups)}"\n' for user in users)


def kubeconfig(url: str, ca: Path, users: Sequence[User], name: str = "seamark") -> str:
    """One cluster, and a context per user, named after the user; the first is the current one."""
    authority = base64.b64encode(ca.read_bytes()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": users[0].name,
        "clusters": [{"name": name, "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": [{"name": user.name, "user": {"token": user.token}} for user in users],
        "contexts": [{"name": user.name, "context": {"cluster": name, "user": user.name}} for user in users],
    }
    return yaml.safe_dump(document, sort_keys=False)


def record_operator_url(path: Path, url: str) -> None:
    """Records the URL of the operator in a kubeconfig of this package."""
    document = yaml.safe_load(path.read_text())
    for entry in document["clusters"]:
        entry["cluster"]["extensions"] = [{"name": OPERATOR, "extension": {"url": url}}]
    fresh = path.with_suffix(".new")
    write_private(fresh, yaml.safe_dump(document, sort_keys=False))
    fresh.replace(path)


def write_private(path: Path, text: str) -> None:
    """Writes a file with secrets: readable by its owner only from its first byte."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
