"""CustomResourceDefinitions, generated from the wire types they are about."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

import yaml

from seamark_runtime.api.meta import Object, Resource
from seamark_runtime.api.schema import NotStructural, Rule, Schema, structural

NEVER = "1970-01-01T00:00:00Z"  # the time of a statement that was made before the first reconcile


class InitialCondition(Protocol):
    """The default condition of an object that was not reconciled yet: Unknown, for this reason."""

    @property
    def name(self) -> str: ...
    @property
    def awaiting(self) -> str: ...
    @property
    def first_message(self) -> str: ...


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of `kubectl get`. One of priority 1 is shown by `-o wide` alone."""

    name: str
    path: str
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    _: dataclasses.KW_ONLY
    priority: int = 0
    description: str = ""
    format: str = ""

    @classmethod
    def condition(cls, name: str, *, field: str = "status", column: str = "", priority: int = 0) -> Column:
        """The status (or reason, or message) of a condition."""
        return cls(column or name, f'.status.conditions[?(@.type=="{name}")].{field}', priority=priority)

    def wire(self) -> Schema:
        column: Schema = {"name": self.name, "type": self.type, "jsonPath": self.path}
        optional = {"priority": self.priority, "description": self.description, "format": self.format}
        return column | {key: value for key, value in optional.items() if value}


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CRD:
    """One kind as the API server is to know it.

    - The schema is that of `kind`; `rules` are about the whole object (`self.spec`, `self.metadata.name`).
    - A kind with a `status` field has the status subresource.
    - `conditions` are there, Unknown, from the moment an object is made: it is never mistaken for one that is ready.
    - The columns are these, in this order, and its age at the end.
    """

    kind: type[Object]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    columns: tuple[Column, ...] = ()
    rules: tuple[Rule, ...] = ()
    conditions: tuple[InitialCondition, ...] = ()
    selectable: tuple[str, ...] = ()
    """Fields that a client can select by, as paths: `.spec.class`."""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def resource(self) -> Resource:
        return self.kind.RESOURCE

    @property
    def name(self) -> str:
        return f"{self.resource.plural}.{self.resource.group}"

    def manifest(self) -> dict[str, Any]:
        metadata: Schema = {"name": self.name}
        metadata |= {"labels": dict(self.labels)} if self.labels else {}
        metadata |= {"annotations": dict(self.annotations)} if self.annotations else {}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": {
                "group": self.resource.group,
                "scope": "Namespaced" if self.resource.namespaced else "Cluster",
                "names": self._names(),
                "versions": [self._version()],
            },
        }

    def _names(self) -> Schema:
        kind = self.resource.kind
        names: Schema = {"plural": self.resource.plural, "singular": self.singular or kind.lower()}
        names |= {"kind": kind, "listKind": f"{kind}List"}
        names |= {"shortNames": list(self.short_names)} if self.short_names else {}
        return names | ({"categories": list(self.categories)} if self.categories else {})

    def _version(self) -> Schema:
        schema = self._schema()
        version: Schema = {"name": self.resource.version, "served": True, "storage": True}
        version["additionalPrinterColumns"] = [column.wire() for column in (*self.columns, AGE)]
        if self.selectable:
            version["selectableFields"] = [{"jsonPath": path} for path in self.selectable]
        if "status" in schema["properties"]:
            version["subresources"] = {"status": {}}
        return version | {"schema": {"openAPIV3Schema": schema}}

    def _schema(self) -> Schema:
        schema = structural(self.kind)
        properties = schema["properties"]
        standing: Schema = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
        }
        schema["properties"] = standing | {name: of for name, of in properties.items() if name != "metadata"}
        if "status" in properties:
            properties["status"].pop("default", None)
        if self.conditions:
            self._first_statement(properties.get("status", {}))
        rules = [rule.wire() for rule in self.rules]
        if rules:
            schema["x-kubernetes-validations"] = [*schema.get("x-kubernetes-validations", []), *rules]
        return schema

    def _first_statement(self, status: Schema) -> None:
        if "conditions" not in status.get("properties", {}):
            raise NotStructural(f"{self.resource.kind} declares conditions, but its status has no place for them")
        status["default"] = {
            "conditions": [
                {
                    "type": condition.name,
                    "status": "Unknown",
                    "reason": condition.awaiting,
                    "message": condition.first_message,
                    "lastTransitionTime": NEVER,
                }
                for condition in self.conditions
            ]
        }


def manifests(crds: Iterable[CRD]) -> str:
    """All of them as one YAML stream, in the order given."""
    return written(crd.manifest() for crd in crds)


def written(documents: Iterable[dict[str, Any]]) -> str:
    return yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=120, explicit_start=True, allow_unicode=True)


class _Plain(yaml.SafeDumper):
    """Writes repeated values in full: readers of manifests do not expect YAML anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
