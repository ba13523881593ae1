"""ValidatingAdmissionPolicy: the cluster owner's rules for any object, in CEL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.cel import CelError, SyntaxProblem, compile_expression
from seamark_cluster.embedded.machinery.errors import ApiError, Json, forbidden
from seamark_cluster.embedded.machinery.revisions import Revisions
from seamark_cluster.embedded.machinery.selectors import from_selector, matches

_GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{_GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{_GROUP}"
_OPERATIONS = {
    "create": "CREATE",
    "update": "UPDATE",
    "patch": "UPDATE",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_CODES = {"Invalid": 422, "Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


class Variables(dict[str, Any]):
    """`variables.name`, each evaluated on first use."""

    def __init__(self, expressions: list[Json], env: Json) -> None:
        super().__init__()
        self._expressions = {expression["name"]: expression["expression"] for expression in expressions}
        self._env = env

    def __contains__(self, name: object) -> bool:
        return name in self._expressions

    def __missing__(self, name: str) -> Any:
        value = self[name] = compile_expression(self._expressions[name])(self._env)
        return value


class Policies:
    """Evaluates every policy that is bound and matches, and refuses with the message of the first denial."""

    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions

    def check(self, call: Call, new: Json | None, old: Json | None) -> None:
        if not self._revisions.table(BINDINGS).keys or call.kind.names.group == _GROUP:
            return
        operation = "CREATE" if new is not None and old is None else _OPERATIONS.get(call.verb, "UPDATE")
        for _, binding in self._revisions.objects(BINDINGS):
            policy = self._revisions.get(POLICIES, ("", binding["spec"].get("policyName", "")))
            if policy is None:
                continue
            match = policy["spec"].get("matchConstraints") or {}
            narrowed = binding["spec"].get("matchResources")
            if not self._matches(match, call, operation, new or old or {}, required=True):
                continue
            if narrowed and not self._matches(narrowed, call, operation, new or old or {}, required=False):
                continue
            for params in self._params(policy, binding, call, new or old or {}):
                self._evaluate(policy, binding, call, self._env(call, operation, (new, old, params)))

    def _matches(self, match: Json, call: Call, operation: str, obj: Json, *, required: bool) -> bool:
        rules = match.get("resourceRules") or []
        if (rules or required) and not any(_rule_matches(rule, call, operation) for rule in rules):
            return False
        if any(_rule_matches(rule, call, operation) for rule in match.get("excludeResourceRules") or ()):
            return False
        labels = obj.get("metadata", {}).get("labels")
        if not matches(from_selector(match.get("objectSelector")), labels):
            return False
        wanted = from_selector(match.get("namespaceSelector"))
        if wanted and call.kind.names.namespaced:
            namespace = self._revisions.get("namespaces", ("", call.namespace)) or {"metadata": {}}
            return matches(wanted, namespace["metadata"].get("labels"))
        return True

    def _params(self, policy: Json, binding: Json, call: Call, written: Json) -> Iterator[Json | None]:
        if not policy["spec"].get("paramKind"):
            yield None
            return
        reference = binding["spec"].get("paramRef") or {}
        kind = policy["spec"]["paramKind"]
        group = kind["apiVersion"].rpartition("/")[0]
        found = []
        for resource in self._revisions.resources():
            if resource.partition(".")[2] == group:
                for (namespace, name), obj in self._revisions.objects(resource):
                    where = reference.get("namespace") or (call.namespace if namespace else "")
                    named = name == reference.get("name") or "selector" in reference
                    chosen = matches(from_selector(reference.get("selector")), obj["metadata"].get("labels"))
                    if obj["kind"] == kind["kind"] and namespace == where and named and chosen:
                        found.append(obj)
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            message = "no params found for policy binding with `Deny` parameterNotFoundAction"
            subject = (written.get("metadata") or {}).get("name", "")
            raise self._denied(policy, binding, call, f"failed to configure binding: {message}", "", subject)
        yield from found

    def _env(self, call: Call, operation: str, objects: tuple[Json | None, Json | None, Json | None]) -> Json:
        new, old, params = objects
        names = call.kind.names
        namespace = self._revisions.get("namespaces", ("", call.namespace)) if names.namespaced else None
        kind = {"group": names.group, "version": names.version, "kind": names.kind}
        resource = {"group": names.group, "version": names.version, "resource": names.plural}
        meta = (new or old or {}).get("metadata", {})
        request = {
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "subResource": call.subresource,
            "name": call.name or meta.get("name", ""),
            "namespace": call.namespace if names.namespaced else "",
            "operation": operation,
            "userInfo": {"username": call.user.name, "groups": list(call.user.all_groups), "uid": call.user.uid},
            "dryRun": call.dry_run,
        }
        return {
            "object": new,
            "oldObject": old,
            "request": request,
            "params": params,
            "namespaceObject": namespace,
        }

    def _evaluate(self, policy: Json, binding: Json, call: Call, env: Json) -> None:
        spec = policy["spec"]
        env = {**env, "variables": Variables(spec.get("variables") or [], env)}
        env["variables"]._env = env
        fails = spec.get("failurePolicy", "Fail") == "Fail"
        for condition in spec.get("matchConditions") or ():
            try:
                if compile_expression(condition["expression"])(env) is not True:
                    return
            except (CelError, SyntaxProblem) as error:
                if fails:
                    raise self._denied(policy, binding, call, str(error), "") from None
                return
        for validation in spec.get("validations") or ():
            message = self._failure(validation, env, fails=fails)
            if message:
                name = env["request"]["name"]
                self._act(policy, binding, call, (message, validation.get("reason") or "", name))

    @staticmethod
    def _failure(validation: Json, env: Json, *, fails: bool) -> str:
        expression = validation["expression"]
        try:
            if compile_expression(expression)(env) is True:
                return ""
        except (CelError, SyntaxProblem) as error:
            return f"expression '{expression}' resulted in error: {error}" if fails else ""
        if validation.get("messageExpression"):
            try:
                text = compile_expression(validation["messageExpression"])(env)
            except CelError:
                text = ""
            if isinstance(text, str) and text.strip() and "\n" not in text.strip():
                return text.strip()
        given: str = validation.get("message") or ""
        return given.strip() or f"failed expression: {expression.strip()}"

    def _act(self, policy: Json, binding: Json, call: Call, failure: tuple[str, str, str]) -> None:
        message, reason, name = failure
        actions = binding["spec"].get("validationActions") or []
        if "Warn" in actions:
            where = f"policy '{policy['metadata']['name']}' with binding '{binding['metadata']['name']}'"
            call.warnings.append(f"Validation failed for ValidatingAdmissionP{where[1:]}: {message}")
        if "Deny" in actions:
            raise self._denied(policy, binding, call, message, reason, name)

    @staticmethod
    def _denied(policy: Json, binding: Json, call: Call, message: str, reason: str, name: str = "") -> ApiError:
        names = call.kind.names
        why = (
            f"ValidatingAdmissionPolicy '{policy['metadata']['name']}' with binding "
            f"'{binding['metadata']['name']}' denied request: {message}"
        )
        error = forbidden(names.group, names.plural, call.name or name, why, [{"message": why}])
        error.reason = reason or "Invalid"
        error.code = _CODES.get(error.reason, 422)
        return error


def _rule_matches(rule: Json, call: Call, operation: str) -> bool:
    names = call.kind.names
    resource = f"{names.plural}/{call.subresource}" if call.subresource else names.plural
    scope = rule.get("scope", "*")
    wanted_names = rule.get("resourceNames")
    return (
        _listed(rule.get("operations"), operation)
        and _listed(rule.get("apiGroups"), names.group)
        and _listed(rule.get("apiVersions"), names.version)
        and _resource_listed(rule.get("resources") or [], resource, call.subresource)
        and scope in ("*", "Namespaced" if names.namespaced else "Cluster")
        and (not wanted_names or call.name in wanted_names)
    )


def _listed(values: list[str] | None, wanted: str) -> bool:
    return "*" in (values or ()) or wanted in (values or ())


def _resource_listed(values: list[str], resource: str, subresource: str) -> bool:
    if resource in values or "*/*" in values:
        return True
    if subresource:
        plural = resource.partition("/")[0]
        return f"*/{subresource}" in values or f"{plural}/*" in values
    return "*" in values
