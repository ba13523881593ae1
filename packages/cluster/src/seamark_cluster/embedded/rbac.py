"""RBAC: roles and bindings, evaluated as by the API server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seamark_cluster.embedded.calls import User
from seamark_cluster.embedded.machinery.errors import ApiError, Json, forbidden, quoted
from seamark_cluster.embedded.machinery.revisions import Revisions

MASTERS = "system:masters"
_GROUP = "rbac.authorization.k8s.io"


_INFORMATION = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]
# The default rules of every API server: self-reviews and discovery.
_DEFAULT_RULES: list[Json] = [
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]},
    {"verbs": ["get"], "nonResourceURLs": _INFORMATION},
]
_ADMINS: list[Json] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is requested: a verb on a resource, or on a non-resource path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Authorizer:
    """Decides by the roles that are stored now, so a removed binding counts from the next request on."""

    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions

    def allows(self, user: User, wanted: Attributes) -> str:
        """Why the user is allowed, or an empty string."""
        if MASTERS in user.groups:
            return "system:masters"
        for rule, reason in self.rules_for(user, wanted.namespace):
            if covers(rule, wanted):
                return reason
        return ""

    def require(self, user: User, wanted: Attributes) -> None:
        if not self.allows(user, wanted):
            raise refusal(user, wanted)

    def rules_for(self, user: User, namespace: str) -> Iterator[tuple[Json, str]]:
        """Every rule that applies to a user, cluster-wide ones first."""
        for rule in _DEFAULT_RULES if "system:authenticated" in user.all_groups else ():
            name = "system:discovery" if "nonResourceURLs" in rule else "system:basic-user"
            to = 'to Group "system:authenticated"'
            yield rule, f'RBAC: allowed by ClusterRoleBinding "{name}" of ClusterRole "{name}" {to}'
        for _, binding in self._revisions.objects(f"clusterrolebindings.{_GROUP}"):
            subject = _bound(binding, user, "")
            if subject:
                name, role = binding["metadata"]["name"], binding["roleRef"]["name"]
                reason = f'RBAC: allowed by ClusterRoleBinding "{name}" of ClusterRole "{role}" to {subject}'
                for rule in self._role(binding["roleRef"], ""):
                    yield rule, reason
        if not namespace:
            return
        for (where, name), binding in self._revisions.objects(f"rolebindings.{_GROUP}"):
            subject = _bound(binding, user, namespace) if where == namespace else ""
            if subject:
                reference = binding["roleRef"]
                reason = (
                    f'RBAC: allowed by RoleBinding "{name}/{namespace}" of {reference["kind"]} '
                    f'"{reference["name"]}" to {subject}'
                )
                for rule in self._role(reference, namespace):
                    yield rule, reason

    def _role(self, reference: Json, namespace: str) -> list[Json]:
        if reference["kind"] == "ClusterRole" and reference["name"] == "cluster-admin":
            return _ADMINS
        if reference["kind"] == "ClusterRole":
            role = self._revisions.get(f"clusterroles.{_GROUP}", ("", reference["name"]))
        else:
            role = self._revisions.get(f"roles.{_GROUP}", (namespace, reference["name"]))
        return (role or {}).get("rules") or []


def _bound(binding: Json, user: User, namespace: str) -> str:
    """The subject of a binding that matches this user."""
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User" and name == user.name:
            return f'User "{name}"'
        if kind == "Group" and name in user.all_groups:
            return f'Group "{name}"'
        where = subject.get("namespace") or namespace
        if kind == "ServiceAccount" and user.name == f"system:serviceaccount:{where}:{name}":
            return f'ServiceAccount "{name}/{where}"'
    return ""


def covers(rule: Json, wanted: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and wanted.verb not in verbs:
        return False
    if wanted.path:
        return any(_path_matches(url, wanted.path) for url in rule.get("nonResourceURLs") or ())
    groups, names = rule.get("apiGroups") or (), rule.get("resourceNames") or ()
    if "*" not in groups and wanted.group not in groups:
        return False
    if names and wanted.name not in names:
        return False
    resources = rule.get("resources") or ()
    wildcard = f"*/{wanted.subresource}"
    return "*" in resources or wanted.full_resource in resources or bool(wanted.subresource and wildcard in resources)


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern[:-1]))


def refusal(user: User, wanted: Attributes) -> ApiError:
    if wanted.path:
        message = f"forbidden: User {quoted(user.name)} cannot {wanted.verb} path {quoted(wanted.path)}"
        return ApiError(403, "Forbidden", message, {})
    scope = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    why = (
        f"User {quoted(user.name)} cannot {wanted.verb} resource {quoted(wanted.full_resource)} "
        f"in API group {quoted(wanted.group)} {scope}"
    )
    return forbidden(wanted.group, wanted.resource, wanted.name, why)
