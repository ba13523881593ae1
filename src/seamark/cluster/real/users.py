"""Who may talk to a control plane, and the kubeconfig they do it with."""

from __future__ import annotations

import base64
import dataclasses
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from seamark.core.connection import OPERATOR

MASTERS = "system:masters"


def _token() -> str:
    return secrets.token_hex(16)


@dataclasses.dataclass(frozen=True)
class User:
    """A user known to the API server by a token. Without a role binding they may do nothing."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = dataclasses.field(default_factory=_token, repr=False)


def token_file(users: Iterable[User]) -> str:
    """The file in which the API server looks tokens up: token, name, uid, groups."""
    return "".join(f'{user.token},{user.name},{user.name},"{",".join(user.groups)}"\n' for user in users)


def kubeconfig(url: str, ca: Path, users: Sequence[User], name: str = "seamark") -> str:
    """One cluster, and a context per user called by the user's name; the first is the current one."""
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


def tell_operator(path: Path, url: str) -> None:
    """Write into a kubeconfig of ours where the operator of its clusters is asked."""
    document = yaml.safe_load(path.read_text())
    for entry in document["clusters"]:
        entry["cluster"]["extensions"] = [{"name": OPERATOR, "extension": {"url": url}}]
    fresh = path.with_suffix(".new")
    write_private(fresh, yaml.safe_dump(document, sort_keys=False))
    fresh.replace(path)


def write_private(path: Path, text: str) -> None:
    """Writes a file that holds secrets: readable by its owner alone from its first byte."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
