"""A parsed request: its verb, its object and its user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark_cluster.embedded.machinery.kinds import Kind


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request. `system:masters` may do everything."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def all_groups(self) -> tuple[str, ...]:
        anonymous = self.name == "system:anonymous"
        own = "system:unauthenticated" if anonymous else "system:authenticated"
        return (*self.groups, own) if own not in self.groups else self.groups


ADMIN = User("system:admin", ("system:masters",))


@dataclass(frozen=True, slots=True)
class Path:
    """The target of a request: a resource, optionally an object and a subresource of it."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one kind."""

    verb: str
    kind: Kind
    path: Path
    user: User
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    agent: str = "unknown"
    warnings: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return self.path.namespace

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def subresource(self) -> str:
        return self.path.subresource

    @property
    def dry_run(self) -> bool:
        return self.query.get("dryRun") == "All"

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager") or self.agent

    def option(self, name: str) -> Any:
        return self.query.get(name)


def parse_path(path: str) -> Path | None:
    """`/api/v1/namespaces/a/pods/b/status` and similar; None for a path that is not a resource."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    if rest[0] == "namespaces" and not group:
        namespace = name
    if len(rest) > 3 and rest[2] not in ("proxy",):
        return None
    return Path(group, version, rest[0], namespace, name, "/".join(rest[2:]))


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def verb_of(method: str, path: Path, query: Mapping[str, str]) -> str:
    if method in ("GET", "HEAD"):
        if path.name:
            return "get"
        return "watch" if query.get("watch") in ("true", "1") else "list"
    if method == "DELETE":
        return "delete" if path.name else "deletecollection"
    return _VERBS.get(method, method.lower())
