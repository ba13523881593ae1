"""CustomResourceDefinitions: what must be right before a kind can be served."""

from __future__ import annotations

import re
from typing import Any

from seamark.cluster.embedded.builtin.validation.basics import one_of
from seamark.cluster.embedded.cel import SyntaxProblem, compile_expression
from seamark.cluster.embedded.names import label_1035, subdomain
from seamark.cluster.embedded.status import FieldError, Json, duplicate, invalid, required


def check_definition(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    group, names = spec.get("group", ""), spec["names"]
    errors: list[FieldError] = []
    wanted = f"{names.get('plural', '')}.{group}"
    if obj["metadata"].get("name") != wanted:
        sentence = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid("metadata.name", obj["metadata"].get("name", ""), sentence))
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
            errors += [invalid(f"spec.names.{field}", text, one) for one in label_1035(text.lower())]
    return errors + _check_versions(spec)


def check_definition_update(new: Json, old: Json) -> list[FieldError]:
    """What is served keeps its name and its scope."""
    ours, theirs = new["spec"], old["spec"]
    pairs = {
        "spec.scope": (ours.get("scope"), theirs.get("scope")),
        "spec.names.kind": (ours["names"].get("kind"), theirs["names"].get("kind")),
    }
    return [invalid(path, one, "field is immutable") for path, (one, other) in pairs.items() if one != other]


def _check_versions(spec: Json) -> list[FieldError]:
    versions = spec.get("versions") or []
    errors: list[FieldError] = []
    seen: set[str] = set()
    # What all versions say alike is said of the definition as a whole.
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
        sentence = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", versions, sentence))
    if not any(version.get("storage") for version in versions):
        errors.append(invalid("status.storedVersions", None, "must have at least one stored version"))
    return errors


def _check_schema(schema: Any, path: str) -> list[FieldError]:
    """Patterns and rules must compile; everything below is looked into."""
    if not isinstance(schema, dict):
        return [invalid(path, schema, "must be a schema")]
    errors: list[FieldError] = []
    if isinstance(schema.get("pattern"), str):
        try:
            re.compile(schema["pattern"])
        except re.error as error:
            sentence = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(f"{path}.pattern", schema["pattern"], sentence))
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
