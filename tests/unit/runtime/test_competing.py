"""Which objects are left alone because another controller undoes what we write, and for how long."""

from __future__ import annotations

from msgspec.structs import replace

from seamark_runtime.api.meta import Condition, Key, ManagedFields, ManagedMeta
from seamark_runtime.competing import PAUSE, UNDONE, CompetingControllers
from seamark_runtime.conditions import ConditionType
from seamark_runtime.request import Request
from seamark_runtime.status import ByEntry, ByManager, Entries
from seamark_runtime.view import View
from tests.unit.runtime.scripted import Lamp, LampStatus, lamp

LIT = ConditionType("Lit", "it shines", {"On": "it does"})
MODE = ByManager("lamps", (LIT,), fields=("watts",))
ITEM, OTHER = Request("lamps", Key("ns", "a")), Request("lamps", Key("ns", "b"))
OURS, THEIRS = "it shines", "mine"


def at(now: float) -> View:
    return View({}, now)


def standing(message: str, version: int, *, uid: str = "", **more: object) -> Lamp:
    condition = Condition(type="Lit", status="True", reason="On", message=message, last_transition_time="t")
    return replace(lamp("a", version=version, uid=uid), status=LampStatus(conditions=(condition,), **more))  # type: ignore[arg-type]


class Fight:
    """We write, and another writes something else; a second passes between two versions."""

    def __init__(self) -> None:
        self.competing = CompetingControllers("class", "ngrok")
        self.version = 1

    def look(self, message: str, now: float = 0.0) -> str:
        self.version += 1
        return self.competing.contested(at(now), ITEM, MODE, standing(message, self.version))

    def write(self) -> None:
        self.version += 1
        self.competing.wrote(ITEM, MODE, standing(OURS, self.version))

    def undone(self, now: float = 0.0) -> str:
        self.write()
        return self.look(THEIRS, now)


def test_whoever_undoes_what_we_wrote_again_and_again_is_another_controller() -> None:
    fight = Fight()
    found = [fight.undone() for _ in range(UNDONE)]
    assert found == ["", "", "in the status of this object"]


def test_what_is_undone_is_counted_once_until_we_write_again() -> None:
    fight = Fight()
    fight.write()
    assert [fight.look(THEIRS + str(turn)) for turn in range(10)] == [""] * 10


def test_what_stands_as_we_wrote_it_is_not_undone_whatever_else_changes() -> None:
    fight = Fight()
    for _ in range(10):
        fight.write()
        assert fight.look(OURS) == ""


def test_forged_managed_fields_say_nothing() -> None:
    competing = CompetingControllers("class", "ngrok")
    for version in range(1, 40, 2):
        ours = standing(OURS, version)
        competing.wrote(ITEM, MODE, ours)
        fields = (ManagedFields(manager="rival", subresource="status", time=f"2026-01-01T00:00:{version}Z"),)
        metadata = ManagedMeta(name="a", uid=ours.uid, resource_version=str(version + 1), managed_fields=fields)
        assert competing.contested(at(0), ITEM, MODE, replace(ours, metadata=metadata)) == ""


def test_one_object_does_not_stop_another() -> None:
    fight = Fight()
    while not fight.undone():
        pass
    assert fight.competing.contested(at(0), OTHER, MODE, lamp("b", version=99)) == ""


def test_an_object_is_left_alone_for_a_while_and_again_if_the_next_write_is_undone_as_well() -> None:
    fight = Fight()
    while not fight.undone(now=10):
        pass
    view = at(PAUSE)
    assert fight.competing.left_alone(view, ITEM)
    assert view.requeue_at == PAUSE + 10
    assert not fight.look(THEIRS, now=PAUSE + 10)
    assert fight.undone(now=PAUSE + 11)


def test_what_was_undone_long_ago_is_forgotten() -> None:
    fight = Fight()
    while not fight.undone():
        pass
    assert not fight.undone(now=2 * PAUSE + 1)


def test_a_write_of_ours_without_an_answer_may_be_what_stands_there() -> None:
    fight = Fight()
    for _ in range(10):
        fight.write()
        fight.competing.unsure(ITEM)
        assert fight.look("what we sent last") == ""


def test_what_another_leader_of_ours_wrote_meanwhile_is_not_undone() -> None:
    fight = Fight()
    for _ in range(10):
        fight.write()
        fight.competing.restart()
        assert fight.look("what the other leader wrote") == ""


def test_a_namesake_and_a_restored_past_are_no_other_controller() -> None:
    competing = CompetingControllers("class", "ngrok")
    for turn in range(10):
        competing.wrote(ITEM, MODE, standing(OURS, 100, uid=f"u{turn}"))
        found = standing(THEIRS, 50, uid=f"u{turn}") if turn % 2 else standing(THEIRS, 200, uid="another")
        assert competing.contested(at(0), ITEM, MODE, found) == ""


def test_fields_and_entries_of_ours_count_and_those_of_others_do_not() -> None:
    assert MODE.fingerprint(standing(OURS, 1)) != MODE.fingerprint(standing(OURS, 1, watts=5))
    foreign = Condition(type="Audited", status="True", reason="x", message="x", last_transition_time="t")
    both = standing(OURS, 1)
    assert both.status is not None
    both = replace(both, status=replace(both.status, conditions=(foreign, *both.status.conditions)))
    assert MODE.fingerprint(both) == MODE.fingerprint(standing(OURS, 1))
    entries = ByEntry(Entries("conditions", lambda one: one.type), lambda one: one.type == "Lit", (LIT,))
    assert entries.fingerprint(both) == entries.fingerprint(standing(OURS, 1))
    assert entries.fingerprint(both) != entries.fingerprint(standing(THEIRS, 1))
    assert entries.fingerprint(lamp("a")) == entries.fingerprint(replace(lamp("a"), status=LampStatus()))


def test_what_is_gone_is_forgotten_and_its_namesake_begins_anew() -> None:
    fight = Fight()
    while not fight.undone():
        pass
    fight.competing.forget(ITEM)
    assert fight.look(THEIRS) == ""


def test_what_is_seen_outside_concerns_one_key_of_a_collection_and_what_belongs_to_it() -> None:
    zone, quiet = Key("", "example.test"), Key("", "example.org")
    competing = CompetingControllers("owner id", "default", {Lamp: lambda one: (Key("", one.spec.color),)})
    competing.seen_outside(at(0), zone, "in the zone example.test", 1)
    assert not competing.left_alone(at(0), zone)
    competing.seen_outside(at(0), zone, "in the zone example.test", 2)
    assert competing.left_alone(at(0), zone)
    assert not competing.left_alone(at(0), quiet)
    assert competing.contested(at(0), ITEM, MODE, lamp("a", color="example.test")) == "in the zone example.test"
    assert competing.contested(at(0), OTHER, MODE, lamp("b", color="example.org")) == ""


def test_the_notice_says_where_by_which_name_and_what_to_do() -> None:
    message = CompetingControllers("loadBalancerClass", "ngrok").notice("in the status of this object").message
    assert message.startswith("Another controller undoes what Seamark writes in the status of this object")
    assert "loadBalancerClass ngrok" in message
    assert "Stop one of them" in message
