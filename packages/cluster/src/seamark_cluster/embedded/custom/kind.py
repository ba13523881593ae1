"""A custom kind in one of its versions, compiled from its CustomResourceDefinition."""

from __future__ import annotations

from seamark_cluster.embedded.builtin.gotypes import MismatchError, normaliser
from seamark_cluster.embedded.custom.rules import Rules
from seamark_cluster.embedded.custom.shape import root_shape
from seamark_cluster.embedded.custom.structural import Structural
from seamark_cluster.embedded.machinery.errors import FieldError, Json, bad_request, invalid
from seamark_cluster.embedded.machinery.fieldsets import Trie
from seamark_cluster.embedded.machinery.kinds import Kind, Names, Policy
from seamark_cluster.embedded.machinery.metadata import check_metadata, check_metadata_update
from seamark_cluster.embedded.machinery.names import subdomain

_STATUS_RESETS: Trie = {"f:metadata": {}, "f:spec": {}}
_MAIN_RESETS: Trie = {"f:status": {}}


class CustomKind(Kind):
    """A kind whose schema is data.

    `read` returns an object that is pruned and defaulted. Validation is in the `validate_*` methods, in the order of
    the API server: schema first, then lists, then rules, and rules only if the schema is satisfied.
    """

    def __init__(self, names: Names, schema: Json, subresources: Json, selectable: list[str]) -> None:
        self.structural = Structural(schema)
        has_status = "status" in subresources
        policy = Policy(
            unconditional_update=False,
            subresources=tuple(name for name in ("status", "scale") if name in subresources),
            reset=_MAIN_RESETS if has_status else None,
            reset_status=_STATUS_RESETS,
        )
        super().__init__(names, root_shape(self.structural), policy)
        self.scale: Json = subresources.get("scale") or {}
        self.rules = Rules(self.structural) if self.structural.has_rules else None
        self._selectable = {path.lstrip("."): path.lstrip(".") for path in selectable}
        self._read_metadata = normaliser("meta/v1.ObjectMeta")

    def list_metadata(self, version: str) -> Json:
        return {"continue": "", "resourceVersion": version}

    def recognised(self, document: Json) -> Json:
        names = self.names
        if not document.get("kind"):
            raise bad_request(
                f"the object provided is unrecognized (must be of type {names.kind}): Object 'Kind' is missing"
            )
        if document.get("apiVersion") != names.api_version:
            raise bad_request(
                f"the API version in the data ({document.get('apiVersion', '')}) does not match "
                f"the expected API version ({names.api_version})"
            )
        return document

    def misfit(self, config: Json) -> str:
        unknown: list[str] = []
        try:
            self._read_metadata(config.get("metadata"), unknown)
        except MismatchError as error:
            return error.message()
        body = {key: value for key, value in config.items() if key not in ("apiVersion", "kind", "metadata")}
        return self.structural.misfit(body, "") or (f".metadata.{unknown[0]}: not declared" if unknown else "")

    def read(self, document: Json, unknown: list[str]) -> Json:
        try:
            metadata = self._read_metadata(document.get("metadata"), unknown)
        except MismatchError as error:
            kind, version = self.names.kind, self.names.version
            raise bad_request(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {error.message()}'
            ) from None
        if unknown:
            unknown[:] = [f"metadata.{name}" for name in unknown]
        obj = self.structural.prune(document, unknown, root=True)
        obj["metadata"] = metadata
        filled: Json = self.structural.fill(obj)
        return filled

    def serve(self, stored: Json) -> Json:
        obj: Json = stored
        if stored["apiVersion"] != self.names.api_version:
            obj = {**stored, "apiVersion": self.names.api_version}
            obj = self.structural.prune(obj, [], root=True)
        served: Json = self.structural.fill(obj)
        return served

    def prepare_create(self, obj: Json) -> None:
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Json, old: Json) -> None:
        if self.has_status:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
        if not _same_beyond_metadata(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, new: Json, old: Json) -> None:
        managed = new["metadata"].get("managedFields")
        status = new.get("status", self)
        new.clear()
        new.update(old)
        new["metadata"] = dict(old["metadata"])
        new["metadata"].pop("managedFields", None)
        if managed is not None:
            new["metadata"]["managedFields"] = managed
        if status is self:
            new.pop("status", None)
        else:
            new["status"] = status

    def validate_create(self, obj: Json) -> list[FieldError]:
        if obj["kind"] != self.names.kind:
            return [self._wrong_kind(obj)]
        errors = check_metadata(obj["metadata"], subdomain, namespaced=self.names.namespaced)
        self.structural.check(obj, "", errors)
        self.structural.check_lists(obj, "", errors)
        self._check_rules(obj, None, errors)
        return errors

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        if new["kind"] != self.names.kind:
            return [self._wrong_kind(new)]
        errors = check_metadata_update(new["metadata"], old["metadata"])
        self.structural.check(new, "", errors, old)
        if not self._list_errors(old):
            errors += self._list_errors(new)
        self._check_rules(new, old, errors)
        return errors

    def validate_status(self, new: Json, old: Json) -> list[FieldError]:
        errors = check_metadata_update(new["metadata"], old["metadata"])
        schema = self.structural.properties.get("status")
        if schema is not None and "status" in new:
            found: list[FieldError] = []
            schema.check(new["status"], "", found, old.get("status", self))
            errors += [FieldError(item.kind, _under_status(item.path), item.body) for item in found]
        duplicates = self._list_errors(new)
        if duplicates and not self._list_errors(old):
            errors += duplicates
        self._check_rules(new, old, errors)
        return errors

    def _wrong_kind(self, obj: Json) -> FieldError:
        return invalid("kind", obj["kind"], f"must be {self.names.kind}")

    def _list_errors(self, obj: Json) -> list[FieldError]:
        errors: list[FieldError] = []
        self.structural.check_lists(obj, "", errors)
        return errors

    def _check_rules(self, new: Json, old: Json | None, errors: list[FieldError]) -> None:
        if self.rules is None:
            return
        if any(error.kind in _BLOCKING for error in errors):
            message = (
                "some validation rules were not checked because the object was invalid; "
                "correct the existing errors to complete validation"
            )
            errors.append(FieldError("FieldValueInvalid", "<nil>", invalid("", None, message).body))
            return
        errors += self.rules.check(new, old)

    def field_path(self, label: str) -> str | None:
        return super().field_path(label) or self._selectable.get(label)


_BLOCKING = {
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
}


def _under_status(path: str) -> str:
    if path in ("", "<nil>"):
        return "status"
    return f"status{path}" if path.startswith("[") else f"status.{path}"


def _same_beyond_metadata(new: Json, old: Json) -> bool:
    keys = new.keys() | old.keys()
    return all(new.get(key) == old.get(key) and (key in new) == (key in old) for key in keys if key != "metadata")
