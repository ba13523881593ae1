"""Children are found by their mark and their namespace: a mark is text that anybody can write, a namespace is not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from seamark_runtime.api.core import ConfigMap, Namespace
from seamark_runtime.api.meta import Object, ObjectMeta
from seamark_runtime.apply import held, left_to_others
from seamark_runtime.cache import Cache, Index
from seamark_runtime.ownership import ByLabels, ByReference, Children, Misplaced, Ownership
from tests.unit.runtime.scripted import lamp

OWNER = lamp("a", uid="u1")
LABELS = ByLabels(manager="seamark", name_label="x/name", namespace_label="x/namespace")
MARKS: tuple[Ownership, ...] = (LABELS, ByReference())
OURS = "test.seamark.dev/ours"


def child(namespace: str, mark: Ownership) -> ConfigMap:
    found: ConfigMap = mark.claim(OWNER, ConfigMap(metadata=ObjectMeta(name="c", namespace=namespace)))
    return found


def found(children: Children, *existing: ConfigMap) -> list[str]:
    index: Index[Any] = Index(ConfigMap, children.index(), "children")
    cache: Cache[Any] = Cache([index])
    for one in existing:
        cache.put(one)
    return [one.metadata.namespace for one in cache.by(index, children.token(OWNER, ConfigMap))]


@pytest.mark.parametrize("mark", MARKS)
def test_a_child_in_its_owners_namespace_is_found_and_a_copy_of_it_elsewhere_is_not(mark: Ownership) -> None:
    copies = child("tenant", mark), child(OWNER.metadata.namespace, mark)
    assert found(Children(mark), *copies) == [OWNER.metadata.namespace]


def test_children_in_a_namespace_of_the_installation_are_found_there_alone() -> None:
    copies = [child(namespace, LABELS) for namespace in ("tenant", "system", OWNER.metadata.namespace)]
    assert found(Children(LABELS, "system"), *copies) == ["system"]


def test_a_child_of_a_kind_without_namespaces_is_found_by_its_mark() -> None:
    children, made = Children(LABELS, "system"), LABELS.claim(OWNER, Namespace(metadata=ObjectMeta(name="c")))
    assert children.token(OWNER, Namespace) in children.index()(made)
    children.check(OWNER, made)


def test_the_children_of_a_namespace_are_in_it() -> None:
    assert Children(LABELS).place(Namespace(metadata=ObjectMeta(name="shop")), ConfigMap) == "shop"


@pytest.mark.parametrize("installed", ["", "system"])
def test_a_child_that_would_not_be_found_again_is_not_made(installed: str) -> None:
    with pytest.raises(Misplaced, match="ConfigMap tenant/c"):
        Children(LABELS, installed).check(OWNER, child("tenant", LABELS))
    Children(LABELS, installed).check(OWNER, child(installed or OWNER.metadata.namespace, LABELS))


@pytest.mark.parametrize(
    ("finalizers", "deleting", "left"),
    [
        (("evil.example/x",), True, True),
        (("evil.example/x",), False, False),
        (("evil.example/x", OURS), True, False),
        ((), True, False),
    ],
)
def test_only_what_is_being_deleted_and_held_by_others_alone_is_left_to_them(
    finalizers: tuple[str, ...], deleting: bool, left: bool
) -> None:
    assert left_to_others(going(finalizers, deleting=deleting), OURS) is left


def going(finalizers: tuple[str, ...], *, deleting: bool = True) -> Object:
    at = "2026-01-01T00:00:00Z" if deleting else None
    made = child("ns", LABELS)
    return replace(made, metadata=replace(made.metadata, finalizers=finalizers, deletion_timestamp=at))


def test_what_holds_an_object_is_named_and_a_long_list_is_cut() -> None:
    assert held(going(())) == ""
    assert held(going(("a/x",))) == "; it is held by the finalizer a/x"
    assert held(going(("a/1", "a/2"))) == "; it is held by the finalizers a/1, a/2"
    assert held(going(tuple(f"a/{number}" for number in range(9)))).endswith("a/0, a/1, a/2 and 6 more")
