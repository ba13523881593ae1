"""Who is a rival, and for how long."""

from __future__ import annotations

from seamark.api.core import Service
from seamark.api.meta import Key, ManagedFields, ManagedMeta
from seamark.core.rivals import SILENCE, Rivals
from seamark.core.view import View


def at(now: float) -> View:
    return View({}, now)


def service(*written: tuple[str, str], subresource: str = "status", name: str = "web") -> Service:
    fields = tuple(ManagedFields(manager=who, time=when, subresource=subresource) for who, when in written)
    return Service(metadata=ManagedMeta(name=name, namespace="shop", managed_fields=fields))


def heard(*looks: Service, ours: tuple[str, ...] = ()) -> str:
    rivals = Rivals("class", "ngrok", ours)
    return [rivals.notice(at(0), one) for one in looks][-1]


def test_whoever_writes_the_status_again_and_again_is_a_rival() -> None:
    assert heard(service(), service(("other", "1")), service(("other", "2"))) == "other"


def test_what_was_written_before_we_came_is_a_predecessors() -> None:
    assert heard(service(("other", "1")), service(("other", "1"))) == ""


def test_what_somebody_tries_once_is_no_controllers() -> None:
    assert heard(service(), service(("other", "1")), service(("other", "1"))) == ""


def test_people_and_parts_of_ours_are_no_rivals() -> None:
    for who in ("kubectl-edit", "seamark-loadbalancer", "score-mirror"):
        looks = [service((who, str(second))) for second in range(5)]
        assert heard(service(), *looks, ours=("score-",)) == ""


def test_who_writes_something_else_than_the_status_is_no_rival() -> None:
    looks = [service(("helm", str(second)), subresource="") for second in range(5)]
    assert heard(service(), *looks) == ""


def test_two_objects_tell_as_much_as_one_twice() -> None:
    first, second = service(name="a"), service(name="b")
    assert heard(first, second, service(("other", "1"), name="a"), service(("other", "2"), name="b")) == "other"


def test_a_past_that_comes_back_is_no_news() -> None:
    assert heard(service(), service(("other", "1")), service(), service(("other", "1"))) == ""


def test_silence_lasts_until_the_rival_has_been_quiet_for_a_while() -> None:
    rivals = Rivals("class", "ngrok")
    for second in range(3):
        rivals.notice(at(second), service(("other", str(second))))
    view = at(SILENCE)
    assert rivals.speaking(view) == "other"
    assert view.again == SILENCE + 2
    assert rivals.speaking(at(SILENCE + 3)) == ""


def test_what_is_gone_is_forgotten_and_its_namesake_begins_anew() -> None:
    rivals = Rivals("class", "ngrok")
    rivals.notice(at(0), service())
    rivals.notice(at(0), service(("other", "1")))
    rivals.forget(Service, Key("shop", "web"))
    assert rivals.notice(at(0), service(("other", "2"))) == ""


def test_the_words_name_the_rival_and_what_it_answers_to() -> None:
    said = Rivals("loadBalancerClass", "ngrok").told("ngrok-operator")
    assert said.message.startswith("Another controller (ngrok-operator) answers to the loadBalancerClass ngrok;")
