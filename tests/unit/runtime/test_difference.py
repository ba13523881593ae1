"""Only what differs is written, and after writing it nothing differs."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from seamark_runtime.api.meta import Object, ObjectMeta, OwnerReference, Resource, Wire, to_wire
from seamark_runtime.difference import difference


class Port(Wire, frozen=True, kw_only=True):
    name: str
    number: int | None = None
    protocol: str | None = None


class Limits(Wire, frozen=True, kw_only=True):
    low: int | None = None
    high: int | None = None


class BoatSpec(Wire, frozen=True, kw_only=True):
    color: str | None = None
    crew: int | None = None
    ports: tuple[Port, ...] | None = None
    limits: Limits | None = None
    names: dict[str, str] | None = None
    config: dict[str, Any] | None = None


class Boat(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("test.seamark.dev", "v1", "Boat", "boats")

    spec: BoatSpec = BoatSpec()
    data: dict[str, str] | None = None


def boat(meta: dict[str, Any] | None = None, data: dict[str, str] | None = None, **spec: Any) -> Boat:
    return Boat(metadata=ObjectMeta(**(meta or {})), spec=BoatSpec(**spec), data=data)


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386, as the API server does it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def patched(live: Boat, patch: dict[str, Any]) -> Boat:
    return msgspec.convert(merged(to_wire(live), patch), Boat)


def test_equal_objects_do_not_differ() -> None:
    one = boat(color="red", ports=(Port(name="a"),), names={"x": "y"})
    assert difference(one, one) == {}


def harbour(uid: str, kind: str = "Harbour") -> OwnerReference:
    return OwnerReference(api_version="test.seamark.dev/v1", kind=kind, name="h", uid=uid, controller=kind == "Harbour")


def of_harbours(one: OwnerReference) -> bool:
    return one.kind == "Harbour"


def test_an_owner_reference_of_ours_that_is_not_wanted_is_removed_and_those_of_others_stay() -> None:
    live = boat({"owner_references": (harbour("u1"), harbour("u2", "Crew"))})
    assert difference(boat(), live) == {}
    patch = difference(boat(), live, of_harbours)
    assert patched(live, patch).metadata.owner_references == (harbour("u2", "Crew"),)
    assert difference(boat(), patched(live, patch), of_harbours) == {}


def test_the_reference_to_a_former_owner_of_the_name_is_replaced() -> None:
    live, wanted = (boat({"owner_references": (harbour(uid),)}) for uid in ("old", "new"))
    patch = difference(wanted, live, of_harbours)
    assert patched(live, patch).metadata.owner_references == (harbour("new"),)


def test_what_the_server_filled_in_stays() -> None:
    wanted = boat(color="red", ports=(Port(name="a", number=1),), limits=Limits(low=1))
    live = boat(color="red", crew=7, ports=(Port(name="a", number=1, protocol="TCP"),), limits=Limits(low=1, high=9))
    assert difference(wanted, live) == {}


def test_only_the_field_that_differs_is_sent() -> None:
    wanted, live = boat(color="red", crew=2), boat(color="red", crew=1, names={"a": "b"})
    assert difference(wanted, live) == {"spec": {"crew": 2}}


def test_a_key_of_a_map_that_is_not_wanted_goes() -> None:
    assert difference(boat(data={"a": "1"}), boat(data={"a": "2", "b": "3"})) == {"data": {"a": "1", "b": None}}


def test_a_list_that_differs_is_sent_whole() -> None:
    wanted = boat(ports=(Port(name="a", number=1), Port(name="b")))
    live = boat(ports=(Port(name="a", number=1, protocol="TCP"),))
    assert difference(wanted, live) == {"spec": {"ports": ({"name": "a", "number": 1}, {"name": "b"})}}


def test_labels_and_annotations_of_others_stay() -> None:
    wanted = boat({"labels": {"ours": "1"}, "annotations": {"ours": "2"}})
    live = boat({"labels": {"ours": "0", "theirs": "x"}, "annotations": {"ours": "2", "theirs": "y"}})
    assert difference(wanted, live) == {"metadata": {"labels": {"ours": "1"}}}


def reference(uid: str, *, controller: bool = False) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="K", name="n", uid=uid, controller=controller)


def test_a_missing_owner_reference_is_added_beside_those_of_others() -> None:
    ours, theirs = reference("u1", controller=True), reference("u2")
    patch = difference(boat({"owner_references": (ours,)}), boat({"owner_references": (theirs,)}))
    assert [ref["uid"] for ref in patch["metadata"]["ownerReferences"]] == ["u2", "u1"]


def test_an_owner_reference_that_somebody_changed_is_mended_in_place_and_not_doubled() -> None:
    # Two with `controller: true` would be refused without end.
    ours, changed = reference("u1", controller=True), reference("u1")
    live = boat({"owner_references": (changed, reference("u2"))})
    patch = difference(boat({"owner_references": (ours,)}), live)
    assert patch["metadata"]["ownerReferences"] == to_wire((ours, reference("u2")))


def test_a_free_value_that_changes_its_kind_is_replaced() -> None:
    for want, have in ({"a": "b"}, 3), (["a"], "a"), ({"a": "b"}, ["a"]), (3, {"a": "b"}), (["x"], {"x": 1}):
        wanted, live = boat(config={"k": want}), boat(config={"k": have})
        after = patched(live, difference(wanted, live))
        assert after.spec.config == {"k": want}


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.booleans(), st.integers(0, 3), st.sampled_from(["", "a", "b"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
STRINGS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3)
PORTS = st.builds(Port, name=st.sampled_from("abc"), number=st.one_of(st.none(), st.integers(0, 3)))
SPECS = st.builds(
    BoatSpec,
    color=st.one_of(st.none(), st.sampled_from("rg")),
    crew=st.one_of(st.none(), st.integers(0, 3)),
    ports=st.one_of(st.none(), st.lists(PORTS, max_size=3).map(tuple)),
    limits=st.one_of(st.none(), st.builds(Limits, low=st.one_of(st.none(), st.integers(0, 3)))),
    names=st.one_of(st.none(), STRINGS),
    config=st.one_of(st.none(), st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)),
)
METAS = st.builds(
    ObjectMeta,
    labels=st.one_of(st.none(), STRINGS),
    annotations=st.one_of(st.none(), STRINGS),
    owner_references=st.one_of(
        st.none(), st.lists(st.sampled_from("12").map(reference), unique_by=lambda r: r.uid).map(tuple)
    ),
)
BOATS = st.builds(Boat, metadata=METAS, spec=SPECS, data=st.one_of(st.none(), STRINGS))


@given(wanted=BOATS, live=BOATS)
def test_after_the_difference_was_applied_nothing_is_left_of_it(wanted: Boat, live: Boat) -> None:
    patch = difference(wanted, live)
    after = patched(live, patch)
    assert difference(wanted, after) == {}
    for name in ("color", "crew"):  # what was set is set; what was not set stayed
        want = getattr(wanted.spec, name)
        assert getattr(after.spec, name) == (getattr(live.spec, name) if want is None else want)
    for name, value in (live.metadata.labels or {}).items():
        assert (after.metadata.labels or {})[name] == (wanted.metadata.labels or {}).get(name, value)


@given(BOATS)
def test_the_difference_to_itself_is_nothing(one: Boat) -> None:
    assert difference(one, replace(one)) == {}


class Sail(Wire, frozen=True, kw_only=True):
    OURS: ClassVar = ("color", "patches")

    name: str
    color: str = ""
    patches: tuple[str, ...] | None = None
    maker: str = ""


class Rig(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("test.seamark.dev", "v1", "Rig", "rigs")

    sail: Sail = Sail(name="main")
    sails: tuple[Sail, ...] = ()


def test_what_is_ours_goes_when_nothing_is_said_of_it() -> None:
    live = Rig(sail=Sail(name="main", color="red", patches=("a",), maker="Ada"))
    assert difference(Rig(), live) == {"sail": {"color": None, "patches": None}}
    assert difference(Rig(), Rig(sail=Sail(name="main", maker="Ada"))) == {}


def test_in_a_list_it_makes_the_list_another_one() -> None:
    live = Rig(sails=(Sail(name="jib", color="red", maker="Ada"),))
    assert difference(Rig(sails=(Sail(name="jib"),)), live) == {"sails": ({"name": "jib"},)}
    assert difference(Rig(sails=(Sail(name="jib", color="red"),)), live) == {}
