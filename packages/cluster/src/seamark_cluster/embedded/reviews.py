"""Access reviews and token reviews: requests that create an object, with the result in its status."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from seamark_cluster.embedded.builtin.goshapes import shape_of
from seamark_cluster.embedded.builtin.gotypes import normaliser
from seamark_cluster.embedded.calls import Call, User
from seamark_cluster.embedded.machinery.errors import Json, bad_request, invalid, invalid_object
from seamark_cluster.embedded.machinery.kinds import Kind, Names, Policy
from seamark_cluster.embedded.rbac import Attributes, Authorizer
from seamark_runtime.clock import timestamp

_AUTHORIZATION, _AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"

Tokens = Callable[[str], User | None]


class Review(Kind):
    """A kind that is never stored."""

    def __init__(self, group: str, kind: str, plural: str, *, namespaced: bool = False) -> None:
        names = Names(group, "v1", kind, plural, namespaced, kind.lower())
        struct = f"{group.partition('.')[0]}/v1.{kind}"
        super().__init__(names, shape_of(struct), Policy(verbs=("create",), stored=False))
        self._normalise = normaliser(struct)

    def empty(self) -> Json:
        return self.read({}, [])

    def recognised(self, document: Json) -> Json:
        names = self.names
        api_version, name = document.get("apiVersion") or names.api_version, document.get("kind") or names.kind
        if (api_version, name) != (names.api_version, names.kind):
            raise bad_request(f'{name} in version "{api_version}" cannot be handled as a {names.kind}')
        return {**document, "apiVersion": api_version, "kind": name}

    def read(self, document: Json, unknown: list[str]) -> Json:
        obj: Json = self._normalise(document, unknown)
        return {**obj, "apiVersion": self.names.api_version, "kind": self.names.kind}


REVIEWS = [
    Review(_AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    Review(_AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews"),
    Review(_AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", namespaced=True),
    Review(_AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
    Review(_AUTHENTICATION, "TokenReview", "tokenreviews"),
    Review(_AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews"),
]


class Reviews:
    """Answers reviews from the stored roles and the known tokens."""

    def __init__(self, authorizer: Authorizer, tokens: Tokens, now: Callable[[], datetime]) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._now = now

    def answer(self, call: Call, obj: Json) -> Json:
        match call.kind.names.kind:
            case "SelfSubjectAccessReview":
                return self._access(call, obj, call.user)
            case "SubjectAccessReview" | "LocalSubjectAccessReview":
                return self._access(call, obj, _subject(obj["spec"]))
            case "SelfSubjectRulesReview":
                return self._rules(call, obj)
            case "TokenReview":
                return self._token(obj)
            case _:
                meta = {**obj["metadata"], "creationTimestamp": timestamp(self._now())}
                return {**obj, "metadata": meta, "status": {"userInfo": _shown(call.user)}}

    def _access(self, call: Call, obj: Json, user: User) -> Json:
        spec = obj["spec"]
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        if (resource is None) == (path is None):
            message = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            if resource is not None:
                message = "cannot be specified in combination with resourceAttributes"
                shown = {"Path": (path or {}).get("path", ""), "Verb": (path or {}).get("verb", "")}
                error = invalid("spec.nonResourceAttributes", shown, message)
            else:
                error = invalid("spec.resourceAttributes", None, message)
            raise invalid_object(_AUTHORIZATION, "", "", [error])
        if resource is not None:
            wanted = Attributes(
                resource.get("verb", ""),
                resource.get("group", ""),
                resource.get("resource", ""),
                resource.get("subresource", ""),
                resource.get("namespace", ""),
                resource.get("name", ""),
            )
        else:
            wanted = Attributes((path or {}).get("verb", ""), path=(path or {}).get("path", ""))
        reason = self._authorizer.allows(user, wanted)
        status: Json = {"allowed": bool(reason)}
        if reason and reason != "system:masters":
            status["reason"] = reason
        return {**obj, "status": status}

    def _rules(self, call: Call, obj: Json) -> Json:
        namespace = obj["spec"].get("namespace", "")
        resource_rules: list[Json] = []
        path_rules: list[Json] = []
        if "system:masters" in call.user.groups:
            resource_rules.append({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
            path_rules.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
        for rule, _ in self._authorizer.rules_for(call.user, namespace):
            if rule.get("nonResourceURLs"):
                path_rules.append({"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]})
            else:
                kept = ("verbs", "apiGroups", "resources", "resourceNames")
                resource_rules.append({key: rule[key] for key in kept if rule.get(key)})
        obj = {**obj, "spec": {}}
        status = {"resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": False}
        return {**obj, "status": status}

    def _token(self, obj: Json) -> Json:
        user = self._tokens(obj["spec"].get("token", ""))
        if user is None:
            status: Json = {"user": {}, "error": "invalid bearer token"}
        else:
            status = {"authenticated": True, "user": _shown(user)}
            if obj["spec"].get("audiences"):
                status["audiences"] = obj["spec"]["audiences"]
        return {**obj, "status": status}


def _subject(spec: Json) -> User:
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))


def _shown(user: User) -> Json:
    shown: Json = {"username": user.name, "groups": list(user.all_groups)}
    if user.uid:
        shown["uid"] = user.uid
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in user.extra.items()}
    return shown
