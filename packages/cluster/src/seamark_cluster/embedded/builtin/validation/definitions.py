"""CustomResourceDefinitions: validation before a kind is served."""

from __future__ import annotations

import re
from typing import Any

from seamark_cluster.embedded.builtin.validation.basics import one_of
from seamark_cluster.embedded.cel import SyntaxProblem, compile_expression
from seamark_cluster.embedded.machinery.errors import FieldError, Json, duplicate, invalid, required
from seamark_cluster.embedded.machinery.names import label_1035, subdomain


def check_definition(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    group, names = spec.get("group", ""), spec["names"]
    errors: list[FieldError] = []
    wanted = f"{names.get('plural', '')}.{group}"
    if obj["metadata"].get("name") != wanted:
        message = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid("metadata.name", obj["metadata"].get("name", ""), message))
    if not group:
        errors.append(required("spec.group"))
    else:
        errors += [invalid("spec.group", group, problem) for problem in subdomain(group)]
    errors += one_of("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    for field in ("plural", "singular", "kind", "listKind"):
        text = names.get(field, "")
        if not text:
            errors.append(required(f"spec.names.{field}"))
        else:
            errors += [invalid(f"spec.names.{field}", text, item) for item in label_1035(text.lower())]
    return errors + _check_versions(spec)


def check_definition_update(new: Json, old: Json) -> list[FieldError]:
    """A served kind keeps its name and its scope."""
    new_spec, old_spec = new["spec"], old["spec"]
    pairs = {
        "spec.scope": (new_spec.get("scope"), old_spec.get("scope")),
        "spec.names.kind": (new_spec["names"].get("kind"), old_spec["names"].get("kind")),
    }
    return [invalid(path, item, "field is immutable") for path, (item, other) in pairs.items() if item != other]


def _check_versions(spec: Json) -> list[FieldError]:
    versions = spec.get("versions") or []
    errors: list[FieldError] = []
    seen: set[str] = set()
    # A schema or option that is the same in all versions moves to the top level.
    several = any(version.get("schema") != versions[0].get("schema") for version in versions)
    if versions:
        first = versions[0].get("name", "")
        errors += [invalid("spec.version", first, problem) for problem in label_1035(first)]
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        name = version.get("name", "")
        errors += [invalid(f"{path}.name", name, problem) for problem in label_1035(name)]
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        where = f"{path}.schema.openAPIV3Schema"
        if schema is None:
            errors.append(required(where))
        else:
            errors += _check_schema(schema, where if several else "spec.validation.openAPIV3Schema")
    if sum(1 for version in versions if version.get("storage")) != 1:
        message = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", versions, message))
    if not any(version.get("storage") for version in versions):
        errors.append(invalid("status.storedVersions", None, "must have at least one stored version"))
    return errors


def _check_schema(schema: Any, path: str) -> list[FieldError]:
    """Patterns and rules must compile, at every level of the schema."""
    if not isinstance(schema, dict):
        return [invalid(path, schema, "must be a schema")]
    errors: list[FieldError] = []
    if isinstance(schema.get("pattern"), str):
        try:
            re.compile(schema["pattern"])
        except re.error as error:
            message = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(f"{path}.pattern", schema["pattern"], message))
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        errors += _check_rule(rule, f"{path}.x-kubernetes-validations[{index}]")
    for key, child in (schema.get("properties") or {}).items():
        errors += _check_schema(child, f"{path}.properties[{key}]")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            errors += _check_schema(schema[key], f"{path}.{key}")
    return errors


def _check_rule(rule: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not str(rule.get("rule", "")).strip():
        return [required(f"{path}.rule", "rule is not specified")]
    for field in ("rule", "messageExpression"):
        text = rule.get(field)
        if text:
            try:
                compile_expression(text)
            except SyntaxProblem as problem:
                errors.append(invalid(f"{path}.{field}", text, f"compilation failed: {problem}"))
    return errors
