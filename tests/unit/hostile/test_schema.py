"""A field that the walker does not see is a field that is not attacked."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from seamark.cli.families import FAMILIES
from seamark_runtime.api.crd import manifests
from tests.hostile.bases import Base as BaseManifest
from tests.hostile.bases import all_fields, base_for, filled, load
from tests.hostile.cases import untried
from tests.hostile.schema import Field, changed, fields, locate, reaches, read

TEXT = {"type": "string"}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}, "status": TEXT}}


def found(**properties: Any) -> dict[str, str]:
    return {field.text: field.type for field in fields("Thing", schema(**properties))}


def test_strings_numbers_and_booleans_are_fields() -> None:
    types = found(a=TEXT, b={"type": "integer"}, c={"type": "number"}, d={"type": "boolean"})
    assert types == {"spec.a": "string", "spec.b": "number", "spec.c": "number", "spec.d": "boolean"}


def test_a_list_is_a_field_and_so_is_what_is_in_it() -> None:
    items = {"type": "object", "properties": {"name": TEXT}}
    assert found(some={"type": "array", "items": items}) == {"spec.some": "list", "spec.some[].name": "string"}


def test_a_map_is_a_field_and_so_are_its_values() -> None:
    assert found(some={"type": "object", "additionalProperties": TEXT}) == {"spec.some": "map", "spec.some.*": "string"}


def test_what_the_schema_leaves_open_is_a_field() -> None:
    assert found(some=OPEN, other={"description": "anything"}) == {"spec.some": "any", "spec.other": "any"}


def test_a_port_that_is_a_number_or_a_name_is_one_field() -> None:
    assert found(port={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, TEXT]}) == {
        "spec.port": "string"
    }


def test_references_of_built_in_kinds_are_followed() -> None:
    whole = {"type": "object", "properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}}}
    definitions = {"Spec": {"type": "object", "properties": {"name": TEXT}}}
    assert [field.text for field in fields("Thing", whole, definitions)] == ["spec.name"]


def test_what_a_base_has_below_an_open_field_are_fields() -> None:
    base = BaseManifest({"kind": "Thing", "apiVersion": "v1", "spec": {"some": {"a": [{"b": 1}], "c": True}}})
    types = {field.text: field.type for field in all_fields("Thing", schema(some=OPEN), {}, [base])}
    assert types == {"spec.some": "any", "spec.some.a": "list", "spec.some.a[].b": "number", "spec.some.c": "boolean"}


def test_a_value_is_put_into_the_element_that_has_the_field() -> None:
    manifest = {"spec": {"filters": [{"type": "a"}, {"redirect": {"host": "x"}}]}}
    place = locate(manifest, ("spec", "filters", "[]", "redirect", "host"))
    assert place == ("spec", "filters", 1, "redirect", "host")
    assert changed(manifest, place, "y")["spec"]["filters"][1]["redirect"]["host"] == "y"
    assert read(manifest, place) == "x"


def test_a_field_that_the_base_lacks_is_added_where_its_object_is() -> None:
    manifest = {"spec": {"tls": {"mode": "x"}}}
    assert not reaches(manifest, ("spec", "tls", "name"))
    assert locate(manifest, ("spec", "tls", "name")) == ("spec", "tls", "name")
    assert locate(manifest, ("spec", "other", "name")) is None


@pytest.mark.parametrize("kind", sorted(load()))
def test_every_base_is_of_its_kind_and_takes_a_name(kind: str) -> None:
    for base in load()[kind]:
        named = base.named({"name": "h-1", "certificate": "c", "key": "k", "authority": "a"})
        assert named.object["metadata"]["name"] == "h-1"
        assert "{name}" not in str(named.object)


def test_a_base_that_has_the_value_is_taken_before_one_that_has_a_place_for_it() -> None:
    place: dict[str, Any] = {"spec": {"a": {}}}
    value: dict[str, Any] = {"spec": {"a": {"b": 1}}}
    bases = [BaseManifest({"kind": "T", "apiVersion": "v1", **part}) for part in (place, value)]
    assert base_for(Field("T", ("spec", "a", "b"), "number"), bases) is bases[1]


def test_words_are_filled_in_everywhere() -> None:
    assert filled({"{name}": ["{name}.a", 1]}, {"name": "x"}) == {"x": ["x.a", 1]}


def test_every_kind_of_every_family_is_tried_or_left_out_for_a_reason() -> None:
    published = [kind["spec"]["names"]["kind"] for family in FAMILIES.values() for kind in family.published()]
    ours = yaml.safe_load_all(manifests([crd for family in FAMILIES.values() for crd in family.crds]))
    kinds = [*published, *(kind["spec"]["names"]["kind"] for kind in ours)]
    assert len(kinds) > 20
    assert untried(kinds, load()) == []
    assert untried([*kinds, "Widget"], load()) == ["Widget"]
