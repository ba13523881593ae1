"""Discovery: the groups, versions and resources, in the plain and in the aggregated form."""

from __future__ import annotations

from typing import Any

from seamark_cluster.embedded.machinery.kinds import Kind
from seamark_cluster.embedded.registry import Registry

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "embedded",
}

# The kinds of `kubectl get all`.
ALL = ("pods", "services", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs")

DEEPEST = {"version": 1, "api": 2, "apis": 3}  # the maximum number of segments in a discovery path

Groups = dict[str, dict[str, list[Kind]]]  # group → version → kinds


def groups_of(registry: Registry) -> Groups:
    groups: Groups = {"": {"v1": []}}
    for kind in sorted(registry.kinds(), key=lambda item: item.names.plural):
        groups.setdefault(kind.names.group, {}).setdefault(kind.names.version, []).append(kind)
    return groups


class Discovery:
    """Serves the paths that are not resources: /api, /apis and below. Computed on each request, as kinds change."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def answer(self, path: str, accept: str) -> dict[str, Any] | None:  # noqa: PLR0911  a row per path
        """The document at this path, or None."""
        parts = [part for part in path.split("/") if part]
        if not parts or len(parts) > DEEPEST.get(parts[0], 0):
            return None  # before anything is collected: this runs for every request
        groups = groups_of(self._registry)
        aggregated = "as=APIGroupDiscoveryList" in accept
        match parts:
            case ["version"]:
                return VERSION
            case ["api"]:
                return aggregate({"": groups[""]}) if aggregated else {"kind": "APIVersions", "versions": ["v1"]}
            case ["apis"]:
                named = {name: versions for name, versions in sorted(groups.items()) if name}
                if aggregated:
                    return aggregate(named)
                return {
                    "kind": "APIGroupList",
                    "apiVersion": "v1",
                    "groups": [group(name, versions) for name, versions in named.items()],
                }
            case ["apis", name] if name in groups:
                return {"kind": "APIGroup", "apiVersion": "v1", **group(name, groups[name])}
            case ["api", version] if version in groups[""]:
                return resources(version, groups[""][version])
            case ["apis", name, version] if version in groups.get(name, {}):
                return resources(f"{name}/{version}", groups[name][version])
            case _:
                return None


def group(name: str, versions: dict[str, list[Kind]]) -> dict[str, Any]:
    document = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": document, "preferredVersion": document[0]}


def resources(group_version: str, kinds: list[Kind]) -> dict[str, Any]:
    found = []
    for kind in kinds:
        found.append(resource(kind))
        found += [subresource(kind, name) for name in kind.policy.subresources]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": found}


def resource(kind: Kind) -> dict[str, Any]:
    names = kind.names
    document = {
        "name": names.plural,
        "singularName": names.singular or names.kind.lower(),
        "namespaced": names.namespaced,
        "kind": names.kind,
        "verbs": list(kind.policy.verbs),
        "shortNames": list(names.short),
        "categories": categories(kind),
    }
    return {name: value for name, value in document.items() if value not in ([], "")}


def categories(kind: Kind) -> list[str]:
    names = kind.names
    usual = ["all"] if names.group in ("", "apps", "batch") and names.plural in ALL else []
    return [*usual, *names.categories]


def subresource(kind: Kind, name: str) -> dict[str, Any]:
    return {
        "name": f"{kind.names.plural}/{name}",
        "singularName": "",
        "namespaced": kind.names.namespaced,
        "kind": kind.names.kind,
        "verbs": ["get", "patch", "update"],
    }


def aggregate(groups: Groups) -> dict[str, Any]:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name} if name else {},
                "versions": [
                    {"version": version, "freshness": "Current", "resources": [described(kind) for kind in kinds]}
                    for version, kinds in versions.items()
                ],
            }
            for name, versions in groups.items()
        ],
    }


def described(kind: Kind) -> dict[str, Any]:
    names = kind.names
    response = {"group": names.group, "version": names.version, "kind": names.kind}
    document: dict[str, Any] = {
        "resource": names.plural,
        "responseKind": response,
        "scope": "Namespaced" if names.namespaced else "Cluster",
        "singularResource": names.singular or names.kind.lower(),
        "verbs": list(kind.policy.verbs),
        "shortNames": list(names.short),
        "categories": categories(kind),
        "subresources": [
            {"subresource": name, "responseKind": response, "verbs": ["get", "patch", "update"]}
            for name in kind.policy.subresources
        ],
    }
    return {name: value for name, value in document.items() if value != []}
