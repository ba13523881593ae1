"""The served kinds: the built-in ones, and those of CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from seamark_cluster.embedded.builtin.catalog import builtin_kinds
from seamark_cluster.embedded.builtin.events import modern_events
from seamark_cluster.embedded.custom.kind import CustomKind
from seamark_cluster.embedded.machinery.errors import Json
from seamark_cluster.embedded.machinery.kinds import Kind, Names
from seamark_cluster.embedded.machinery.revisions import encode
from seamark_cluster.embedded.reviews import REVIEWS

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"

_Place = tuple[str, str, str]


@cache
def _builtins() -> dict[_Place, Kind]:
    """Built-in kinds have no state, so all stores share them."""
    kinds: list[Kind] = [*builtin_kinds(), modern_events(), *REVIEWS]
    return {_place(kind): kind for kind in kinds}


def _place(kind: Kind) -> _Place:
    return (kind.names.group, kind.names.version, kind.names.plural)


_COMPILED: dict[bytes, list[CustomKind]] = {}


def compile_definition(definition: Json) -> list[CustomKind]:
    """The kinds of a definition, one per served version. Compiled once: equal definitions share the result."""
    spec = definition["spec"]
    text = encode(spec)
    kinds = _COMPILED.get(text)
    if kinds is None:
        if len(_COMPILED) > 256:
            _COMPILED.clear()
        kinds = _COMPILED[text] = [_custom(spec, version) for version in spec["versions"] if version.get("served")]
    return kinds


def _custom(spec: Json, version: Json) -> CustomKind:
    names = spec["names"]
    return CustomKind(
        Names(
            spec["group"],
            version["name"],
            names["kind"],
            names["plural"],
            spec.get("scope") == "Namespaced",
            names.get("singular") or names["kind"].lower(),
            tuple(names.get("shortNames") or ()),
            tuple(names.get("categories") or ()),
            names.get("listKind") or f"{names['kind']}List",
        ),
        (version.get("schema") or {}).get("openAPIV3Schema") or {"x-kubernetes-preserve-unknown-fields": True},
        version.get("subresources") or {},
        [field["jsonPath"] for field in version.get("selectableFields") or ()],
    )


class Registry:
    """Finds the kind of a path. Custom kinds are added and removed with their definitions."""

    def __init__(self) -> None:
        self._custom: dict[_Place, CustomKind] = {}
        self._installed: dict[str, list[CustomKind]] = {}
        self.versions: dict[str, str] = {}
        """The storage version of each custom resource."""

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        place = (group, version, plural)
        return _builtins().get(place) or self._custom.get(place)

    def install(self, definition: Json) -> None:
        name = definition["metadata"]["name"]
        self.uninstall(name)
        kinds = compile_definition(definition)
        self._installed[name] = kinds
        for kind in kinds:
            self._custom[_place(kind)] = kind
        stored = [version["name"] for version in definition["spec"]["versions"] if version.get("storage")]
        self.versions[name] = f"{definition['spec']['group']}/{stored[0]}"

    def uninstall(self, name: str) -> None:
        for kind in self._installed.pop(name, ()):
            self._custom.pop(_place(kind), None)
        self.versions.pop(name, None)

    def reset(self) -> None:
        for name in list(self._installed):
            self.uninstall(name)

    def kinds(self) -> Iterator[Kind]:
        yield from _builtins().values()
        yield from self._custom.values()

    def of_storage(self, resource: str) -> Kind | None:
        """Any version of a stored resource: enough where only metadata matters."""
        for kind in self.kinds():
            if kind.storage == resource:
                return kind
        return None

    def by_kind(self, api_version: str, kind_name: str) -> Kind | None:
        for kind in self.kinds():
            if kind.names.kind == kind_name and kind.names.api_version == api_version:
                return kind
        return None
